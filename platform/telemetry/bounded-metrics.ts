import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { BoundedLabels, type LabelBounds, type LabelValues } from './bounded-labels.ts';

interface MetricOptions<Label extends string> {
  readonly registry: Registry;
  readonly name: string;
  readonly help: string;
  readonly labels: LabelBounds<Label>;
}

/** One series of a counter: its labels are bound once, and it is added to the counter when the metrics are read. */
class CounterSeries {
  #pending = 0;

  inc(value = 1): void {
    this.#pending += value;
  }

  /** The count since the last call. */
  take(): number {
    const pending = this.#pending;
    this.#pending = 0;
    return pending;
  }
}

/** A counter whose labels keep within their bounds. */
export class BoundedCounter<Label extends string> {
  readonly #labels: BoundedLabels<Label>;
  readonly #counter: Counter<Label>;
  readonly #series: { readonly labels: Record<Label, string>; readonly series: CounterSeries }[] = [];

  constructor({ registry, name, help, labels }: MetricOptions<Label>) {
    this.#labels = new BoundedLabels(labels);
    const collect = () => this.#collect();
    this.#counter = new Counter({ name, help, labelNames: this.#labels.names, registers: [registry], collect });
  }

  /** One series for what is counted with every request, at a twentieth of the cost of `inc`. */
  series(labels: LabelValues<Label>): CounterSeries {
    const series = new CounterSeries();
    this.#series.push({ labels: this.#labels.bound(labels), series });
    return series;
  }

  #collect(): void {
    for (const { labels, series } of this.#series) {
      const pending = series.take();
      if (pending > 0) this.#counter.inc(labels, pending);
    }
  }

  inc(labels: LabelValues<Label>, value = 1): void {
    this.#counter.inc(this.#labels.bound(labels), value);
  }
}

/** A gauge whose labels keep within their bounds. */
export class BoundedGauge<Label extends string> {
  readonly #labels: BoundedLabels<Label>;
  readonly #gauge: Gauge<Label>;

  constructor({ registry, name, help, labels }: MetricOptions<Label>) {
    this.#labels = new BoundedLabels(labels);
    this.#gauge = new Gauge({ name, help, labelNames: this.#labels.names, registers: [registry] });
  }

  set(labels: LabelValues<Label>, value: number): void {
    this.#gauge.set(this.#labels.bound(labels), value);
  }

  /** Ends a series. */
  remove(labels: LabelValues<Label>): void {
    this.#gauge.remove(this.#labels.bound(labels));
  }
}

/** A histogram of seconds whose labels keep within their bounds. */
export class BoundedHistogram<Label extends string> {
  readonly #labels: BoundedLabels<Label>;
  readonly #histogram: Histogram<Label>;

  constructor({ registry, name, help, labels, buckets }: MetricOptions<Label> & { readonly buckets: number[] }) {
    this.#labels = new BoundedLabels(labels);
    this.#histogram = new Histogram({ name, help, labelNames: this.#labels.names, registers: [registry], buckets });
  }

  /** One series, whose labels are bound once. */
  series(labels: LabelValues<Label>): Pick<Histogram.Internal<Label>, 'observe'> {
    return this.#histogram.labels(this.#labels.bound(labels));
  }

  observe(labels: LabelValues<Label>, seconds: number): void {
    this.#histogram.observe(this.#labels.bound(labels), seconds);
  }
}
