# What bash asks for when the tab key is pressed behind these words.
source <(orrery completion bash)
try() { COMP_WORDS=(orrery "$@"); COMP_CWORD=$#; _orrery; echo "${COMPREPLY[@]}"; }
try si
try fit ''
try help fit si
try simulate --set-
try simulate job.yaml --no
try simulate --gpu H2
try simulate --gpu = H2
try simulate --cluster 'DGX\ H1'
try simulate --set model = gpt2-m
try analyze run --metric mf
try memory run.orrs --tool h
try list fr
try simulate --overlap m
try simulate ex
complete -p orrery
