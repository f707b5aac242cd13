/* The module kvforensics._scan. Texts come in and columns go out through Arrow's C interfaces: nothing is copied. */
#include "functions.h"

enum { PROGRAM = 9 }; /* what compiled.py asks of this module */

/* A column or a table is a pair of capsules (schema, array). */
static PyMethodDef methods[] = {
    {"are_printable", are_printable, METH_O, "are_printable(stream) -> whether all texts are of printable ASCII"},
    {"beginnings", beginnings, METH_O, "beginnings(stream) -> bytes, two for each beginning, or None"},
    {"group", group, METH_VARARGS,
     "group(height, keys, orders, columns) -> table of the first row of each group, and the columns told\n\n"
     "keys, orders: streams; columns: (rule, stream, place in orders or -1)."},
    {"lines", lines, METH_O, "lines(pieces) -> column of the lines of bytes that are cut anywhere, or None where they are not UTF-8"},
    {"scan", scan, METH_VARARGS,
     "scan(stream, forms, layouts) -> (parts, left, local, lines) or None\n\n"
     "parts: (place in layouts, table of row, tail, columns); left: table of rows; local: table of times;\n"
     "lines: table of each line's place in local, and 1 where it is taken and has a prefix.\n"
     "None: the lines are for the expressions alone."},
    {"thin", thin, METH_VARARGS,
     "thin(pieces or stream, forms, layouts, may, gap) -> (table, column, number of lines) or None\n\n"
     "may: a byte a layout; gap: microseconds; table: the rows to keep, and what is left out before each: lines, and lines\n"
     "with a prefix; column: the lines of pieces that are kept, None of a stream.\n"
     "None where they are not UTF-8, and where it cannot be told."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_scan", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__scan(void) {
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddIntConstant(module, "PROGRAM", PROGRAM) < 0) Py_CLEAR(module);
    return module;
}
