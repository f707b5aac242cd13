/* What scan() does, made by parsing/native.py:
     forms:   (lead, mask, close, stamped, tails, understood)
              mask: one byte a character of the time, '0' for a digit, else the character itself
              tails: the known texts between the time and `close`; understood: one byte each, 1 or 0
     layouts: (kinds, texts, columns), one byte or entry an item
              kinds: 'c' constant, 'i' digits, 'f' decimal number, 'b' True or False, 's' run of characters
              texts: the constant, or for 's' a table of 256 bytes: which bytes may stand in the run
              columns: one byte an item, 1 where the slot is a column
*/
#ifndef KVFORENSICS_PROGRAM_H
#define KVFORENSICS_PROGRAM_H
#include "arrow.h"

enum { MAX_ITEMS = 256, MAX_LAYOUTS = 64, MAX_FORMS = 8, ESCAPE = 0x1b };

typedef struct {
    const char *text;
    size_t size;
} Text;

typedef struct {
    char kind;
    Text text;
    int column; /* its place in the layout's columns, MAX_ITEMS for none */
} Item;

typedef union {
    int64_t whole;
    double decimal;
} Value;

typedef struct {
    Item items[MAX_ITEMS];
    int size, width; /* items, columns */
    char formats[MAX_ITEMS]; /* of the columns: i f b */
    int may_escape; /* a control sequence may stand in it */
    Bytes rows, tails, columns[MAX_ITEMS];
    int64_t hits;
    size_t room; /* for so many hits */
} Layout;

typedef struct {
    Text lead, mask, close;
    int stamped;
    Text *tails;
    size_t count; /* of tails */
    const char *understood;
    uint32_t first; /* the number of its first tail; 0 stands for no prefix */
    uint32_t *slots; /* hash of the tails: place + 1 */
    size_t room;
} Form;

typedef struct {
    Form forms[MAX_FORMS];
    int form_count;
    Layout *layouts;
    int layout_count;
    uint8_t beginning[256][MAX_LAYOUTS]; /* layouts by the first byte of their lead */
    uint8_t beginnings[256];
    Bytes left, run, headed, local;
    int64_t rows;
    char last[64]; /* the beginning of the last line that has a time */
    size_t last_size;
    int odd;   /* a time that only the expressions may judge, or a control sequence of a terminal */
} Scan;

/* What a line says. */
typedef struct {
    Layout *layout; /* NULL for none */
    uint32_t tail;
    int timed; /* it has the last time of the scan */
    Value values[MAX_ITEMS + 1];
} Line;

/* Read the program into a scan of zeros; 0 with an exception where it cannot be. */
int read_program(Scan *scan, PyObject *forms, PyObject *layouts);

void free_scan(Scan *scan);

/* The number of a known tail that is understood, else 0. */
uint32_t tail_of(const Form *form, const char *text, size_t size);

/* Read a line; 0: no memory. */
int read_line(Scan *scan, const char *text, size_t size, Line *line);

#endif
