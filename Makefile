include build.mk
