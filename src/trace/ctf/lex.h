/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of TSDL. */
#ifndef PANTRACE_TRACE_CTF_LEX_H
#define PANTRACE_TRACE_CTF_LEX_H

#include "base/arena.h"
#include "base/strbuf.h"

enum ctf_token_kind {
	CTF_TOKEN_END,
	CTF_TOKEN_WORD,
	CTF_TOKEN_NUMBER,
	CTF_TOKEN_TEXT, /* between quotes, without them */
	CTF_TOKEN_ASSIGN, /* := */
	CTF_TOKEN_DOTS, /* ... */
	CTF_TOKEN_ARROW, /* -> */
	CTF_TOKEN_CHAR, /* any other character, in `c` */
	CTF_TOKEN_BAD,
};

struct ctf_token {
	enum ctf_token_kind kind;
	char c;
	u32 line;
	u64 number;
	const char *text; /* word or text, in the arena */
};

struct ctf_lexer {
	const char *at, *end;
	u32 line;
	struct arena *arena;
	struct strbuf scratch;
};

void ctf_lex(struct ctf_lexer *l, struct ctf_token *ret);

#endif
