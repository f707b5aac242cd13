/* Columns added up by groups. */
#include "groups.h"

typedef union {
    int64_t whole;
    double decimal;
} Number;

typedef struct {
    const Groups *groups;
    char rule;
    int decimal;          /* the column holds floats */
    size_t at;            /* the row to come */
    const int64_t *order; /* NULL for that of the rows */
    Number *found;
    int64_t *place; /* in the order, of each value found */
    char *known;    /* whether any was */
} Adding;

static inline Number better(char rule, int decimal, Number one, Number other) {
    int less = decimal ? other.decimal < one.decimal : other.whole < one.whole;
    int more = decimal ? other.decimal > one.decimal : other.whole > one.whole;
    return (rule == 'n' ? less : more) ? other : one;
}

static inline void add_one(Adding *adding, char rule, int decimal, Number value, size_t row) {
    uint32_t group = adding->groups->of[row];
    Number *found = &adding->found[group];
    switch (rule) {
    case 's':
        if (decimal) found->decimal += value.decimal;
        else found->whole = (int64_t)((uint64_t)found->whole + (uint64_t)value.whole);
        return;
    case 'n':
    case 'x':
        *found = better(rule, decimal, adding->known[group] ? *found : value, value);
        break;
    case 'f':
        if (adding->known[group]) return;
        *found = value;
        break;
    case 'l':
        *found = value;
        break;
    default: { /* F and L: by an order */
        int64_t place = adding->order[row];
        if (adding->known[group] && (rule == 'F' ? place >= adding->place[group] : place < adding->place[group])) return;
        *found = value;
        adding->place[group] = place;
    }
    }
    adding->known[group] = 1;
}

/* The same for every rule and type, so that the compiler makes a loop of each. */
static inline void add_all(Adding *adding, const struct ArrowArray *array, char rule, int decimal) {
    const Number *values = (const Number *)array->buffers[1] + array->offset;
    size_t at = adding->at;
    adding->at += (size_t)array->length;
    if (array->null_count == 0 || array->buffers[0] == NULL) {
        for (int64_t number = 0; number < array->length; number++) add_one(adding, rule, decimal, values[number], at + (size_t)number);
        return;
    }
    for (int64_t number = 0; number < array->length; number++)
        if (!is_null(array, array->offset + number)) add_one(adding, rule, decimal, values[number], at + (size_t)number);
}

static int add_array(const struct ArrowArray *array, void *state) {
    Adding *adding = state;
    if (adding->at + (size_t)array->length > adding->groups->rows) return -1;
    switch (adding->rule) {
    case 'l': adding->order == NULL ? add_all(adding, array, 'l', 0) : add_all(adding, array, 'L', 0); break;
    case 'f': adding->order == NULL ? add_all(adding, array, 'f', 0) : add_all(adding, array, 'F', 0); break;
    case 'n': adding->decimal ? add_all(adding, array, 'n', 1) : add_all(adding, array, 'n', 0); break;
    case 'x': adding->decimal ? add_all(adding, array, 'x', 1) : add_all(adding, array, 'x', 0); break;
    default: adding->decimal ? add_all(adding, array, 's', 1) : add_all(adding, array, 's', 0);
    }
    return 1;
}

/* Note which groups nothing was found of; 0: no memory. */
static int note_nulls(const Adding *adding, Told *told) {
    uint32_t count = adding->groups->count;
    for (uint32_t group = 0; group < count; group++) told->nulls += !adding->known[group];
    if (told->nulls == 0) return 1;
    told->validity = calloc(1, count / 8 + 1);
    if (told->validity == NULL) return 0;
    for (uint32_t group = 0; group < count; group++)
        if (adding->known[group]) told->validity[group >> 3] |= (char)(1 << (group & 7));
    return 1;
}

static int add_column(const Groups *groups, Told *told, const int64_t *order) {
    Adding adding = {.groups = groups, .rule = told->rule, .decimal = *told->format == 'g', .order = order};
    adding.found = (Number *)told->made.data;
    adding.place = malloc(8 * (size_t)groups->count + 8), adding.known = calloc((size_t)groups->count + 1, 1);
    int done = 0;
    if (adding.place != NULL && adding.known != NULL) done = each_array(told->stream, add_array, &adding);
    if (done == 1 && adding.at != groups->rows) done = -1;
    if (done == 1 && told->rule != 's') done = note_nulls(&adding, told);
    free(adding.place), free(adding.known);
    return done;
}

int tell(const Groups *groups, Told *told, const int64_t *order) {
    size_t room = (size_t)groups->count + 1;
    told->made = (Bytes){.data = calloc(room, 8), .size = 8 * (room - 1), .room = 8 * room};
    if (told->made.data == NULL) return 0;
    told->format = told->rule == 'c' ? "l" : number_format(told->stream);
    if (told->format == NULL) return -1;
    if (told->rule != 'c') return add_column(groups, told, order);
    for (size_t row = 0; row < groups->rows; row++) ((int64_t *)told->made.data)[groups->of[row]]++;
    return 1;
}
