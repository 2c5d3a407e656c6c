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
	char buf[128];
	const char *agent;
	int n;

	if (argc > 1 && argv[1][0] == '-') {
		int help = !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h");

		fputs("usage: vgpu env: eval \"$(vgpu env)\"\n"
		      "  Prints for a shell what vgpu run sets.\n", help ? stdout : stderr);
		return help ? 0 : 2;
	}
	agent = agent_find(buf, sizeof(buf));
	if (!agent) {
		complain("env: no agent answers: start the services, or use vgpu run, which starts its own");
		return 125;
	}
	n = surround(rows, agent, 0, 0);
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
