/**
 * What a label may say: one of a list, or as many different values as the number tells, the first ones seen. Every
 * other value becomes `other`, so that no caller can make time series without end.
 */
export type LabelBounds<Label extends string> = Readonly<Record<Label, readonly string[] | number>>;

export type LabelValues<Label extends string> = Readonly<Record<Label, string | number>>;

const valueLengthMax = 128;

/** Holds the labels of one metric to their bounds. */
export class BoundedLabels<Label extends string> {
  readonly #bounds: LabelBounds<Label>;
  readonly #seen = new Map<Label, Set<string>>();

  constructor(bounds: LabelBounds<Label>) {
    this.#bounds = bounds;
  }

  get names(): Label[] {
    return Object.keys(this.#bounds) as Label[];
  }

  bound(values: LabelValues<Label>): Record<Label, string> {
    const bounded = this.names.map((name) => [name, this.#boundOne(name, String(values[name]))]);
    return Object.fromEntries(bounded) as Record<Label, string>;
  }

  #boundOne(name: Label, value: string): string {
    const bound: readonly string[] | number = this.#bounds[name];
    if (typeof bound !== 'number') return bound.includes(value) ? value : 'other';
    const seen = this.#seen.get(name) ?? new Set();
    this.#seen.set(name, seen);
    if (seen.has(value)) return value;
    if (seen.size >= bound || value.length > valueLengthMax) return 'other';
    seen.add(value);
    return value;
  }
}
