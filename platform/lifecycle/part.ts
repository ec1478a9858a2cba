/** A piece of a running process. `main.ts` starts parts in order and stops them in reverse. */
export interface Part {
  readonly name: string;
  start(): Promise<void>;
  /** Ends what `start` began; called once, also after a failed start of a later part. `signal` aborts at the deadline. */
  stop(signal: AbortSignal): Promise<void>;
}
