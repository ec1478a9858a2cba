/** A piece of a running process. `main.ts` starts components in order and stops them in reverse. */
export interface Component {
  readonly name: string;
  start(): Promise<void>;
  /**
   * Ends what `start` began; called once, also after a failed start of a later component. `signal` aborts at the
   * deadline.
   */
  stop(signal: AbortSignal): Promise<void>;
}
