/* Rows in groups, and what is told of each group. Nothing here needs Python's lock; 1: done, 0: no memory, -1: it does not fit. */
#ifndef KVFORENSICS_GROUPS_H
#define KVFORENSICS_GROUPS_H
#include "arrow.h"

typedef struct {
    size_t rows;     /* of every column */
    uint32_t *of;    /* the group of each row, numbered in the order of their first rows */
    uint32_t *first; /* the first row of each group */
    uint32_t count, room;
} Groups;

/* A rule over one of the rows' columns, in which null says nothing, and the groups' column that it makes. */
typedef struct {
    char rule;                       /* f first, l last, n least, x most, s sum, c number of rows */
    struct ArrowArrayStream *stream; /* NULL for c */
    int order;                       /* the column by which first and last are told, -1: by row */
    const char *format;
    Bytes made;
    char *validity; /* NULL where nothing is null */
    int64_t nulls;
} Told;

/* Part groups further by a column of whole numbers, in which null is a value too. */
int part_by(Groups *groups, struct ArrowArrayStream *stream);

/* Make a column of the groups; `order` is NULL, or a place for each row. */
int tell(const Groups *groups, Told *told, const int64_t *order);

#endif
