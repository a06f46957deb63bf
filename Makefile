# Aliases of dev.py, for fingers used to make.
.PHONY: help demo test lint check build docs bench sanitize fuzz

help:
	@python3 dev.py --help

demo test lint check build docs sanitize:
	@python3 dev.py $@

# make bench NAME="rrf kendall"
bench:
	@python3 dev.py bench $(NAME)

# make fuzz MINUTES=10
fuzz:
	@python3 dev.py fuzz $(MINUTES)
