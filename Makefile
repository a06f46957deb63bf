# Aliases of dev.py, for fingers used to make.
.PHONY: help demo test check build docs bench

help:
	@python3 dev.py --help

demo test check build docs:
	@python3 dev.py $@

# make bench NAME="rrf kendall"
bench:
	@python3 dev.py bench $(NAME)
