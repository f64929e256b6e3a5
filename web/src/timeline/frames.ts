// Draws when something changed, at most once a frame of the display.

const kKept = 1200;

export class Frames {
  private asked = false;
  private readonly times: number[] = [];

  /** `draw` returns whether it wants to be called again, for an animation. */
  constructor(private readonly draw: (now: number) => boolean) {}

  invalidate(): void {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame((now) => {
      this.asked = false;
      const begin = performance.now();
      const again = this.draw(now);
      this.times.push(performance.now() - begin);
      if (this.times.length > kKept) this.times.splice(0, this.times.length - kKept);
      if (again) this.invalidate();
    });
  }

  /** Milliseconds that the last frames took. */
  get frameTimes(): number[] { return [...this.times]; }
}
