/* SPDX-License-Identifier: MIT */
/* vgpu toolkit DIR: lib/vgpu/toolkit/toolkit.sh does it; what that needs was installed with it. */
#include "vgpu.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static const char usage_text[] =
	"usage: vgpu toolkit [--nvcc FOLDER] DIR\n\n"
	"  DIR       becomes a CUDA 13 toolkit's folder, for CMake's CUDAToolkit_ROOT or as it is: NVIDIA's compiler and\n"
	"            headers from PyPI (fetched by pip, 110 MB, once), our libraries and archives where theirs would be\n"
	"  --nvcc    where the compiler is kept: ~/.cache/vgpu/nvcc\n";

int cmd_toolkit(int argc, char **argv)
{
	const char *nvcc = NULL, *dir = NULL;
	char script[PATH_MAX];
	int i, err;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			fputs(usage_text, stdout);
			return 0;
		}
		if (!strcmp(argv[i], "--nvcc") && i + 1 < argc)
			nvcc = argv[++i];
		else if (*argv[i] && *argv[i] != '-' && !dir)
			dir = argv[i];
		else
			break;
	}
	if (i < argc || !dir) {
		fputs(usage_text, stderr);
		return 2;
	}
	err = tool_path(script, sizeof(script), "lib", "toolkit/toolkit.sh");
	if (!err) {
		sigpipe_as_before();
		execl(script, script, dir, nvcc, (char *)NULL);
		err = -errno;
	}
	complain("%s: %s: Debian's package libcuda-lite-dev has it; else make install brings it", err == -ENAMETOOLONG ? "toolkit.sh" : script, strerror(-err));
	return 1;
}
