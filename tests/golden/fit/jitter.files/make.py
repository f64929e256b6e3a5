"""Steps of four made systems: 1 s with a small triangle of noise, and a stall in every fiftieth step."""

print("system,benchmark,run,step,seconds,steps_in_window,gpu,gpus")
for submitter in "ABCD":
    for run in range(3):
        for step in range(200):
            noise = ((step * 37 + run * 11 + ord(submitter)) % 101 - 50) / 50 * 0.004
            stall = 0.1 if step % 50 == 20 else 0
            print(f"{submitter}/one,made,{run},{step},{1 + noise + stall:.5f},1,H200,16")
