/* What the module offers. */
#ifndef KVFORENSICS_FUNCTIONS_H
#define KVFORENSICS_FUNCTIONS_H
#include "arrow.h"

PyObject *are_printable(PyObject *module, PyObject *capsule);
PyObject *beginnings(PyObject *module, PyObject *capsule);
PyObject *group(PyObject *module, PyObject *args);
PyObject *lines(PyObject *module, PyObject *data);
PyObject *scan(PyObject *module, PyObject *args);
PyObject *thin(PyObject *module, PyObject *args);

#endif
