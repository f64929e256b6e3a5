#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
ARGS="
    --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --vocab-size 50257 \
    --seq-length 2048 --micro-batch-size 1 --global-batch-size 64 --bf16
"
if [ -n "$LONG" ]; then
  RECOMPUTE="--recompute-activations"
fi
srun python pretrain_gpt.py $ARGS $RECOMPUTE --pipeline-model-parallel-size $PP
