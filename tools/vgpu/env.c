/* SPDX-License-Identifier: MIT */
/* vgpu env: what vgpu run would set, for a shell: eval "$(vgpu env)". An agent has to be there, as a service. */
#include <stdlib.h>
#include <string.h>

#include "surround.h"
#include "vgpu.h"

static void quoted(const char *s)
{
	putchar('\'');
	for (; *s; s++)
		if (*s == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*s);
	putchar('\'');
}

int cmd_env(int argc, char **argv)
{
	struct surround rows[SURROUND_MAX];
	struct agent_reach reach;
	char buf[128];
	int n;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		fputs("usage: vgpu env: eval \"$(vgpu env)\"\n"
		      "  Prints for a shell what vgpu run sets.\n", stdout);
		return 0;
	}
	if (argc > 1)
		return misused("env", argv[1]);
	if (agent_search(buf, sizeof(buf), &reach) != VGPU_REACH_OK) {
		complain("env: %s; %s", reach.why, reach.fix);
		return 125;
	}
	n = surround(rows, buf, 0, 0);
	if (n < 0)
		return 125;
	for (int i = 0; i < n; i++) {
		char *value = surround_value(&rows[i]);

		printf("export %s=", rows[i].name);
		quoted(value ? value : "");
		printf("       # %s\n", rows[i].whom);
		free(value);
	}
	surround_free(rows, n);
	return 0;
}
