import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { BoundedLabels, type LabelBounds, type LabelValues } from './bounded-labels.ts';

interface MetricOptions<Label extends string> {
  readonly registry: Registry;
  readonly name: string;
  readonly help: string;
  readonly labels: LabelBounds<Label>;
}

/** A counter whose labels keep within their bounds. */
export class BoundedCounter<Label extends string> {
  readonly #labels: BoundedLabels<Label>;
  readonly #counter: Counter<Label>;

  constructor({ registry, name, help, labels }: MetricOptions<Label>) {
    this.#labels = new BoundedLabels(labels);
    this.#counter = new Counter({ name, help, labelNames: this.#labels.names, registers: [registry] });
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

  observe(labels: LabelValues<Label>, seconds: number): void {
    this.#histogram.observe(this.#labels.bound(labels), seconds);
  }
}
