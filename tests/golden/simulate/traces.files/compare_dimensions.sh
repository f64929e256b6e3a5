#!/bin/bash
# Compares NAME.json, the answer of a simulation, with the analysis of its trace NAME.orr.
rank=$(python3 -c "import json, sys; print(json.load(open(sys.argv[1]))['breakdown_rank'])" "$1.json")
orrery analyze "$1.orr" --json --metric bubble_size_pipeline > bubble.json
orrery analyze "$1.orr" --json --rank "$rank" --metric exposed_comm_time --metric collective_vol_total_gb > slowest.json
python3 compare_dimensions.py "$1.json" bubble.json slowest.json
