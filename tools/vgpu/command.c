/* SPDX-License-Identifier: MIT */
/* From a command line to the file that will run: see command.h. */
#define _GNU_SOURCE
#include "command.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ldso.h"

static int is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

int command_find(char *const *env, const char *cmd, char *out)
{
	const char *path = env_get(env, "PATH");

	if (strchr(cmd, '/')) {
		snprintf(out, PATH_MAX, "%s", cmd);
		return is_program(cmd) ? 0 : -1;
	}
	for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *path;) {
		size_t n = strcspn(path, ":");

		if ((size_t)snprintf(out, PATH_MAX, "%.*s/%s", n ? (int)n : 1, n ? path : ".", cmd) < PATH_MAX &&
		    is_program(out) && !access(out, X_OK))
			return 0;
		path += n;
		path += *path != 0;
	}
	return -1;
}

int command_script(const char *path, char *word, size_t bytes)
{
	char line[512], *at, *save = NULL;
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(line, 1, sizeof(line) - 1, f) : 0;
	const char *slash;

	if (f)
		fclose(f);
	line[n] = 0;
	if (n < 3 || line[0] != '#' || line[1] != '!')
		return 0;
	line[strcspn(line, "\n")] = 0;
	at = strtok_r(line + 2, " \t\r", &save);
	slash = at ? strrchr(at, '/') : NULL;
	if (at && !strcmp(slash ? slash + 1 : at, "env"))
		do
			at = strtok_r(NULL, " \t\r", &save);
		while (at && (*at == '-' || strchr(at, '=')));
	snprintf(word, bytes, "%s", at ? at : "");
	return 1;
}
