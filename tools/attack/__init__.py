"""Parts of tools/attack.py: mutations of files, checks of runs, kinds of attacks."""
