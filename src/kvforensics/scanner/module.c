/* The module kvforensics._scan. Texts come in and columns go out through Arrow's C interfaces: nothing is copied. */
#include "functions.h"

enum { PROGRAM = 7 }; /* what compiled.py asks of this module */

static PyMethodDef methods[] = {
    {"are_printable", are_printable, METH_O, "are_printable(stream) -> whether all texts are of printable ASCII"},
    {"beginnings", beginnings, METH_O, "beginnings(stream) -> bytes, two for each beginning, or None"},
    {"group", group, METH_VARARGS,
     "group(height, keys, orders, columns) -> (firsts, columns)\n\n"
     "keys, orders: streams; columns: (rule, stream, place in orders or -1). firsts: the first row of each group."},
    {"lines", lines, METH_O, "lines(pieces) -> column of the lines of bytes that are cut anywhere, or None where they are not UTF-8"},
    {"scan", scan, METH_VARARGS,
     "scan(stream, forms, layouts) -> (parts, left, local, run) or None\n\n"
     "None: the lines are for the expressions alone. A column is a pair of capsules (schema, array)."},
    {"thin", thin, METH_VARARGS,
     "thin(stream, forms, layouts, may, gap) -> (rows, left_out, headed) or None\n\n"
     "may: a byte a layout; gap: microseconds. The rows to keep, and what was left out before each."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_scan", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__scan(void) {
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddIntConstant(module, "PROGRAM", PROGRAM) < 0) Py_CLEAR(module);
    return module;
}
