"""Parts of tools/attack.py: mutations of files, runs that are judged, kinds of attacks."""
