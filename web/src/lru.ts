/** Keeps the values that were used last, up to a number of bytes. */
export class Lru<T> {
  private readonly entries = new Map<string, { value: T; bytes: number }>();
  private held = 0;

  constructor(private readonly limitBytes: number, private readonly drop: (value: T) => void = () => {}) {}

  /** Returns the value and counts it as used. */
  get(key: string): T | undefined {
    const entry = this.entries.get(key);
    if (!entry) return undefined;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry.value;
  }

  has(key: string): boolean { return this.entries.has(key); }

  set(key: string, value: T, bytes: number): void {
    this.remove(key);
    this.entries.set(key, { value, bytes });
    this.held += bytes;
    // A Map lists its keys in order of insertion: the first was used longest ago. The newest stays, whatever its size.
    for (const oldest of this.entries.keys()) {
      if (this.held <= this.limitBytes || oldest === key) break;
      this.remove(oldest);
    }
  }

  remove(key: string): void {
    const entry = this.entries.get(key);
    if (!entry) return;
    this.entries.delete(key);
    this.held -= entry.bytes;
    this.drop(entry.value);
  }

  clear(): void {
    for (const key of [...this.entries.keys()]) this.remove(key);
  }

  get bytes(): number { return this.held; }
  get size(): number { return this.entries.size; }
}
