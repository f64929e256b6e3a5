import csv,sys,gzip,json,glob,statistics as st
rows=list(csv.DictReader(open(sys.argv[1]+'/processed/pairs.csv')))
print(len(rows),'rows', sum(1 for r in rows if r['rejected']), 'rejected')
from collections import Counter
print(Counter(r['rejected'] for r in rows))
for r in rows:
    print(r['mode'][0],r['first'],r['priority'][:4],r['k_operator'][:46].ljust(46),r['k_grid'],r['k_block'],r['k_regs'],r['k_smem'],'|',r['c_pattern'],r['c_place'],r['c_blocks'],r['c_threads'],r['c_rate_set_gbps'],r['c_chunk_bytes'],'| K',r['k_alone_us'],r['k_together_us'],'gap',r['k_gap_alone_us'],r['k_gap_us'],'sd',r['k_start_delay_us'],'| C',r['c_alone_gbps'],r['c_together_gbps'],r['c_alone_us'],r['c_together_us'],'cd',r['c_start_delay_us'],r['c_first_delay_us'],r['offset_us'],r['sm_clock_mhz'],r['rejected'][:9])
