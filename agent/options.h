/* SPDX-License-Identifier: MIT */
/* Command line; no configuration file. */
#ifndef AGENT_OPTIONS_H
#define AGENT_OPTIONS_H

#include "agent.h"

/* 0: go on. 1: --help or --version was answered, exit 0. -1: wrong, said why, exit 2. */
int options_parse(struct options *o, int argc, char **argv);
/* The limits of o's --limits file on top of o. 0, or -1 and why: then o is as before. */
int options_limits(struct options *o, char *why, size_t n);
/* All limits in one line. */
void options_say(const struct options *o, char *text, size_t n);
void options_default(struct options *o);

#endif
