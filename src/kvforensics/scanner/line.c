/* One line: where its prefix ends, which layout its body has, what the slots say. */
#include "program.h"

enum { EXACT_DIGITS = 15, INT_DIGITS = 18 };

/* Nothing behind the texts is read; pieces that lie across each other spare a loop over the last bytes. */
static inline int same(const char *text, const char *other, size_t size) {
    uint64_t one, two;
    uint32_t four, these;
    if (size >= 8) {
        for (size_t at = 0; at + 8 < size; at += 8) {
            memcpy(&one, text + at, 8), memcpy(&two, other + at, 8);
            if (one != two) return 0;
        }
        memcpy(&one, text + size - 8, 8), memcpy(&two, other + size - 8, 8);
        return one == two;
    }
    if (size >= 4) {
        memcpy(&four, text, 4), memcpy(&these, other, 4);
        if (four != these) return 0;
        memcpy(&four, text + size - 4, 4), memcpy(&these, other + size - 4, 4);
        return four == these;
    }
    for (; size > 0; size--)
        if (*text++ != *other++) return 0;
    return 1;
}

static int is_digit(char byte) { return (uint8_t)(byte - '0') < 10; }

static int fits_mask(const char *text, Text mask) {
    for (size_t at = 0; at < mask.size; at++)
        if (mask.text[at] == '0' ? !is_digit(text[at]) : text[at] != mask.text[at]) return 0;
    return 1;
}

static int number(const char *text, int digits) {
    int value = 0;
    for (int at = 0; at < digits; at++) value = value * 10 + (text[at] - '0');
    return value;
}

/* Microseconds since 1970 of `YYYY-MM-DD hh:mm:ss`; 0 where there is no such moment, or only a leap second. */
static int moment(const char *text, int64_t *micros) {
    static const int8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = number(text, 4), month = number(text + 5, 2), day = number(text + 8, 2);
    int hour = number(text + 11, 2), minute = number(text + 14, 2), second = number(text + 17, 2);
    int leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (year < 1 || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59) return 0;
    if (day > days[month - 1] + (month == 2 && leap)) return 0;
    int64_t before = year - (month <= 2);
    int64_t passed = 365 * before + before / 4 - before / 100 + before / 400;
    passed += (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1 - 719468;
    *micros = ((passed * 24 + hour) * 60 + minute) * INT64_C(60000000) + second * INT64_C(1000000);
    return 1;
}

static const char *find(const char *text, const char *end, Text wanted) {
    for (; (size_t)(end - text) >= wanted.size; text++) /* it is near, so that a byte at a time is fastest */
        if (*text == *wanted.text && same(text, wanted.text, wanted.size)) return text;
    return NULL;
}

/* A run goes on while lines begin alike. */
static int begins_as_last(const Scan *scan, const char *text, size_t size, size_t width) {
    return scan->last_size == width && size >= width && same(scan->last, text, width);
}

/* Note the time of a line that begins a run; there is room for it. */
static void note_time(Scan *scan, const char *text, size_t size, size_t lead) {
    int64_t micros;
    if (size - lead != 19 || !moment(text + lead, &micros)) {
        scan->odd = 1;
        return;
    }
    PUSH(&scan->local, int64_t, micros);
    scan->last_size = size <= sizeof scan->last ? size : 0;
    memcpy(scan->last, text, scan->last_size);
}

/* How many of eight characters, the first in the lowest byte, are digits before the first that is none.
   `values` is what the bytes differ from '0' by: behind the first that is no digit it may be wrong what they add up to. */
static inline int leading_digits(uint64_t values) {
    uint64_t others = ((values + 0x7676767676767676u) | values) & 0x8080808080808080u;
    return others ? __builtin_ctzll(others) >> 3 : 8;
}

/* The number that eight digits make, the first in the lowest byte. */
static inline uint64_t number_of(uint64_t values) {
    values = values * 10 + (values >> 8);
    return ((values & 0x000000ff000000ffu) * 0x000f424000000064u + ((values >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >> 32;
}

/* Read at most `most` digits into `value`; return where they end. Numbers have one to seven digits mostly, how many
   cannot be foreseen: eight bytes at once are read without asking of each whether it is one. */
static inline const char *read_digits(const char *text, const char *end, int most, int64_t *value) {
    const char *last = end - text > most ? text + most : end;
    int64_t whole = *value;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (last - text >= 8) {
        static const int64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
        uint64_t eight;
        memcpy(&eight, text, 8);
        eight ^= 0x3030303030303030u;
        int count = leading_digits(eight);
        if (count == 0) return text;
        if (count < 8) {
            *value = whole * powers[count] + (int64_t)number_of(eight << (64 - 8 * count));
            return text + count;
        }
    }
#endif
    while (text < last && is_digit(*text)) whole = whole * 10 + (*text++ - '0');
    *value = whole;
    return text;
}

static int read_decimal(const char **at, const char *end, double *value) {
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const char *text = *at;
    int negative = text < end && *text == '-';
    text += negative;
    int64_t digits = 0;
    const char *point = read_digits(text, end, EXACT_DIGITS, &digits);
    if (point == text || point == end || *point != '.') return 0;
    const char *stop = read_digits(point + 1, end, EXACT_DIGITS - (int)(point - text), &digits);
    if (stop == point + 1 || (stop < end && is_digit(*stop))) return 0;
    /* both numbers are exact, so the quotient is the nearest there is */
    double found = (double)digits / powers[stop - point - 1];
    *value = negative ? -found : found;
    *at = stop;
    return 1;
}

/* A run of the characters of a table of 256 bytes, each 1 or 0. */
static const char *read_run(const char *text, const char *end, const char *may) {
    while (end - text >= 4 && may[(uint8_t)text[0]] & may[(uint8_t)text[1]] & may[(uint8_t)text[2]] & may[(uint8_t)text[3]]) text += 4;
    while (text < end && may[(uint8_t)*text]) text++;
    return text;
}

static inline int read_item(const Item *item, const char **at, const char *end, Value *value) {
    const char *text = *at;
    size_t rest = (size_t)(end - text);
    switch (item->kind) {
    case 'c':
        if (rest < item->text.size || !same(text, item->text.text, item->text.size)) return 0;
        *at = text + item->text.size;
        return 1;
    case 'i':
        value->whole = 0;
        text = read_digits(text, end, INT_DIGITS, &value->whole);
        if (text < end && is_digit(*text)) return 0;
        break;
    case 'f':
        return read_decimal(at, end, &value->decimal);
    case 'b':
        value->whole = rest >= 4 && same(text, "True", 4);
        if (!value->whole && (rest < 5 || !same(text, "False", 5))) return 0;
        *at = text + (value->whole ? 4 : 5);
        return 1;
    default:
        text = read_run(text, end, item->text.text);
    }
    if (text == *at) return 0;
    *at = text;
    return 1;
}

static int read_body(const Layout *layout, const char *body, const char *end, Value *values) {
    const char *at = body;
    for (int number = 0; number < layout->size; number++) {
        const Item *item = &layout->items[number];
        if (!read_item(item, &at, end, &values[item->column])) return 0;
    }
    return at == end && !(layout->may_escape && memchr(body, ESCAPE, (size_t)(end - body)) != NULL);
}

/* Return where the body of a line begins, NULL where what it begins with is not understood. */
static const char *read_prefix(Scan *scan, const char *text, size_t size, Line *line) {
    int open = 0; /* it begins like a prefix, and is none of that form */
    for (int number = 0; number < scan->form_count; number++) {
        const Form *form = &scan->forms[number];
        size_t lead = form->lead.size, width = lead + form->mask.size;
        if (size < lead || !same(text, form->lead.text, lead)) continue;
        int again = form->stamped && begins_as_last(scan, text, size, width);
        if (!again && (size < width || !fits_mask(text + lead, form->mask))) {
            open = 1;
            continue;
        }
        if (form->stamped) {
            if (!again) note_time(scan, text, width, lead);
            line->timed = 1;
        }
        const char *close = find(text + width, text + size, form->close);
        line->tail = close == NULL ? 0 : tail_of(form, text + width, (size_t)(close - text) - width);
        return line->tail ? close + form->close.size : NULL;
    }
    return open ? NULL : text;
}

int read_line(Scan *scan, const char *text, size_t size, Line *line) {
    const char *end = text + size;
    line->layout = NULL, line->tail = 0, line->timed = 0;
    if (!grow(&scan->local, 8)) return 0;
    const char *body = read_prefix(scan, text, size, line);
    if (body != NULL && body != end) {
        uint8_t begin = (uint8_t)*body;
        for (int place = 0; place < scan->beginnings[begin]; place++) {
            Layout *layout = &scan->layouts[scan->beginning[begin][place]];
            if (!read_body(layout, body, end, line->values)) continue;
            line->layout = layout;
            return 1;
        }
    }
    if (memchr(text, ESCAPE, size) != NULL) scan->odd = 1;
    return 1;
}
