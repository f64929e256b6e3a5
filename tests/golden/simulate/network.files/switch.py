# 32 GPUs of four nodes, each with a port of its own on one switch.
print("nodes:")
for gpu in range(32):
    print(f"  - {{name: gpu{gpu}, kind: gpu}}\n  - {{name: nic{gpu}, kind: nic}}")
for node in range(4):
    print(f"  - {{name: nv{node}, kind: switch}}")
print("  - {name: leaf, kind: switch}\nlinks:")
for gpu in range(32):
    print(f"  - {{from: gpu{gpu}, to: nv{gpu // 8}, gbps: 450, kind: nvlink}}")
    print(f"  - {{from: gpu{gpu}, to: nic{gpu}, gbps: 64, kind: pcie}}")
    print(f"  - {{from: nic{gpu}, to: leaf, gbps: {5 if gpu == 3 else 50}}}")
