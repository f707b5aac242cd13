/* Lines where they lie in bytes that are cut anywhere: only a line that is cut is put together. */
#include "pieces.h"

/* The bytes of one character that is not ASCII; 0 where there is none (Unicode 16, table 3-7). */
static size_t character(const uint8_t *text, size_t size) {
    uint8_t first = text[0], least = 0x80, most = 0xbf;
    size_t width = first >= 0xc2 && first <= 0xdf ? 2 : first >= 0xe0 && first <= 0xef ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 0;
    if (width == 0 || size < width) return 0;
    if (first == 0xe0) least = 0xa0;
    if (first == 0xed) most = 0x9f;
    if (first == 0xf0) least = 0x90;
    if (first == 0xf4) most = 0x8f;
    if (text[1] < least || text[1] > most) return 0;
    for (size_t at = 2; at < width; at++)
        if ((text[at] & 0xc0) != 0x80) return 0;
    return width;
}

static int is_ascii(const char *text, size_t size) {
    uint64_t high = 0, eight;
    size_t at = 0;
    for (; at + 8 <= size; at += 8) {
        memcpy(&eight, text + at, 8);
        high |= eight;
    }
    for (; at < size; at++) high |= (uint8_t)text[at];
    return (high & UINT64_C(0x8080808080808080)) == 0;
}

static int is_utf8(const char *text, size_t size) {
    const uint8_t *bytes = (const uint8_t *)text;
    for (size_t at = 0; at < size;) {
        size_t width = bytes[at] < 0x80 ? 1 : character(bytes + at, size - at);
        if (width == 0) return 0;
        at += width;
    }
    return 1;
}

typedef struct {
    Bytes *joined; /* lines that were cut */
    size_t begun;  /* where the last of them begins, while it is not at its end */
    int32_t pieces;
    TakeLine *take;
    void *state;
} Walk;

static int take(const Walk *walk, const char *text, size_t size, int32_t buffer, size_t start) {
    if (size > 0 && text[size - 1] == '\r') size--;
    if (!is_ascii(text, size) && !is_utf8(text, size)) return -1;
    return walk->take(walk->state, text, size, (Spot){buffer, (uint32_t)start});
}

static int join(const Walk *walk, const char *data, size_t size) {
    if (walk->joined->size + size > INT32_MAX) return -1;
    if (!grow(walk->joined, size)) return 0;
    memcpy(walk->joined->data + walk->joined->size, data, size);
    walk->joined->size += size;
    return 1;
}

/* Take the line that was put together. */
static int take_joined(Walk *walk) {
    size_t begun = walk->begun;
    walk->begun = walk->joined->size;
    return take(walk, walk->joined->data + begun, walk->joined->size - begun, walk->pieces, begun);
}

static int walk_piece(Walk *walk, const char *data, size_t size, int32_t number) {
    size_t start = 0;
    int done = 1;
    while (done == 1 && start < size) {
        const char *found = memchr(data + start, '\n', size - start);
        size_t width = found == NULL ? size - start : (size_t)(found - data) - start;
        int whole = found != NULL && walk->begun == walk->joined->size;
        if (whole) done = take(walk, data + start, width, number, start);
        else done = join(walk, data + start, width);
        if (done == 1 && !whole && found != NULL) done = take_joined(walk);
        start += width + 1;
    }
    return done;
}

int each_line(const Texts *texts, Bytes *joined, TakeLine *take_line, void *state) {
    Walk walk = {joined, 0, (int32_t)texts->count, take_line, state};
    int done = texts->longest <= INT32_MAX && texts->count < INT32_MAX ? 1 : -1;
    for (int32_t number = 0; done == 1 && number < walk.pieces; number++)
        done = walk_piece(&walk, texts->buffers[number], (size_t)texts->sizes[number], number);
    if (done == 1 && walk.begun < joined->size) done = take_joined(&walk);
    return done;
}
