/* SPDX-License-Identifier: MIT */
/*
 * Names that others chose, before they reach a terminal or a parser: what is no printable UTF-8 becomes '?'. Control characters have two
 * forms above ASCII: a byte of 0x80 to 0x9f, and U+0080 to U+009f, which terminals obey as they do ESC [.
 */
#include "vgpu.h"

/* Bytes of the character that begins at s, 0: it is none (RFC 3629, section 4). */
static unsigned utf8(const unsigned char *s)
{
	unsigned n = *s < 0x80 ? 1 : *s >= 0xc2 && *s < 0xe0 ? 2 : *s >= 0xe0 && *s < 0xf0 ? 3 : *s >= 0xf0 && *s < 0xf5 ? 4 : 0;

	for (unsigned i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) || (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

void printable(char *text)
{
	for (unsigned char *s = (unsigned char *)text; *s;) {
		unsigned n = utf8(s);

		if (!n || *s < 0x20 || *s == 0x7f || (*s == 0xc2 && s[1] < 0xa0)) {
			*s++ = '?';
			n = n ? n - 1 : 0;
			while (n--)
				*s++ = '?';
			continue;
		}
		s += n;
	}
}
