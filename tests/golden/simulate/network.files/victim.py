# Four nodes of eight GPUs with a port each: nodes 0 and 2 under switch t1, 3 under t2, 1 under t4,
# whose cable carries a third of the others.
print("nodes:")
for gpu in range(32):
    print(f"  - {{name: gpu{gpu}, kind: gpu}}\n  - {{name: nic{gpu}, kind: nic}}")
for name in ["nv0", "nv1", "nv2", "nv3", "t1", "t2", "t4", "spine"]:
    print(f"  - {{name: {name}, kind: switch}}")
print("links:")
for gpu in range(32):
    print(f"  - {{from: gpu{gpu}, to: nv{gpu // 8}, gbps: 450, kind: nvlink}}")
    print(f"  - {{from: gpu{gpu}, to: nic{gpu}, gbps: 64, kind: pcie}}")
    print(f"  - {{from: nic{gpu}, to: {['t1', 't4', 't1', 't2'][gpu // 8]}, gbps: 50}}")
for switch, rate in [("t1", 400), ("t2", 400), ("t4", 400 / 3)]:
    print(f"  - {{from: {switch}, to: spine, gbps: {rate}}}")
