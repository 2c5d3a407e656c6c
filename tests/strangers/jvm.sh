#!/bin/bash
# SPDX-License-Identifier: MIT
# JCuda of Maven, unmodified: vgpu run -- java, at 7.5. Its libraries for the JNI have a cudart inside (turned over) and look for libcuda,
# libcublas and libnvrtc by name; jvm/Jvm.java calls all four and compares with plain Java.
#   tests/strangers/jvm.sh BUILD
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
version=12.6.0

[ "${VGPU_TEST_STRANGERS:-}" = 1 ] || [ "${2:-}" = jcuda ] || { echo "skip jvm: 12 MB of Maven's: VGPU_TEST_STRANGERS=1 asks for them, or tests/strangers/jvm.sh BUILD jcuda"; exit 0; }
for tool in mvn java javac; do command -v $tool >/dev/null || { echo "skip jvm: no $tool here"; exit 0; }; done
dir=$B/strangers/jvm
mkdir -p "$dir/classes"
cat >"$dir/pom.xml" <<EOF
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>t</groupId><artifactId>t</artifactId><version>1</version>
<dependencies>
<dependency><groupId>org.jcuda</groupId><artifactId>jcuda</artifactId><version>$version</version></dependency>
<dependency><groupId>org.jcuda</groupId><artifactId>jcublas</artifactId><version>$version</version></dependency>
</dependencies></project>
EOF
if [ ! -e "$dir/have-$version" ]; then
	(cd "$dir" && timeout 300 mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib) >"$dir/log" 2>&1 || {
		echo "skip jvm: JCuda cannot be had: $(grep -m 1 ERROR "$dir/log")"
		exit 0
	}
	touch "$dir/have-$version"
fi
jars=$(printf '%s:' "$dir"/lib/jcu*.jar)
javac -d "$dir/classes" -cp "$jars" "$here/jvm/Jvm.java" >"$dir/log" 2>&1 || { echo "FAIL jvm does not compile: $(head -n 1 "$dir/log")"; exit 1; }
bad=0
for isa in '' avx2; do
	name=jvm${isa:+-$isa}
	# what JCuda unpacks for the JNI goes where Java's temporary files do
	said=$(VGPU_CPU_ISA=$isa timeout 300 "$B/bin/vgpu" run --cc 7.5 -- java -Djava.io.tmpdir="$dir" -cp "$jars$dir/classes" Jvm 2>"$dir/err")
	st=$?
	sed -En "s#^(ok|FAIL) #\1 $name/#p" <<<"$said"
	[ $st = 0 ] && continue
	grep -q '^FAIL' <<<"$said" || echo "FAIL $name status $st: $(tail -n 1 "$dir/err")"
	bad=1
done
exit $bad
