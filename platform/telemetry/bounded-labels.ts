/**
 * The values of a label: a list, or a number of different values, the first ones seen. Every other value becomes
 * `other`, so that callers cannot make unbounded time series.
 */
export type LabelBounds<Label extends string> = Readonly<Record<Label, readonly string[] | number>>;

export type LabelValues<Label extends string> = Readonly<Record<Label, string | number>>;

const valueLengthMax = 128;

/** One label: its values, to which others are added up to its maximum. */
interface Bound<Label extends string> {
  readonly name: Label;
  readonly values: Set<string>;
  readonly valuesMax: number;
}

/** Holds the labels of one metric to their bounds. */
export class BoundedLabels<Label extends string> {
  readonly names: Label[];
  readonly #bounds: readonly Bound<Label>[];

  constructor(bounds: LabelBounds<Label>) {
    this.names = Object.keys(bounds) as Label[];
    this.#bounds = this.names.map((name) => {
      const bound: readonly string[] | number = bounds[name];
      return typeof bound === 'number'
        ? { name, values: new Set(), valuesMax: bound }
        : { name, values: new Set(bound), valuesMax: 0 };
    });
  }

  /** Runs with every request. */
  bound(values: LabelValues<Label>): Record<Label, string> {
    const bounded: Partial<Record<Label, string>> = {};
    for (const bound of this.#bounds) bounded[bound.name] = boundOne(bound, String(values[bound.name]));
    return bounded as Record<Label, string>;
  }
}

function boundOne({ values, valuesMax }: Bound<string>, value: string): string {
  if (values.has(value)) return value;
  if (values.size >= valuesMax || value.length > valueLengthMax) return 'other';
  values.add(value);
  return value;
}
