import { fault, type Finding } from './check.ts';

/** Leases and due times are the database's, tokens and signatures are this clock's. */
const skewMsMax = 5_000;

interface Asked {
  /** This clock, before and after the other was asked. */
  readonly before: number;
  readonly after: number;
}

/** Whether another clock differs from this one by more than the question took. `step`: how exact it is. */
export function clockFindings(whose: string, otherMs: number, { before, after }: Asked, stepMs = 0): Finding[] {
  // What the other shows began up to a step ago.
  const skewMs = otherMs + stepMs < before ? otherMs + stepMs - before : Math.max(0, otherMs - after);
  if (Math.abs(skewMs) <= skewMsMax) return [];
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const relation = skewMs > 0 ? 'ahead of' : 'behind';
  return [
    fault(
      `the clock of ${whose} is ${seconds} s ${relation} the clock of this machine`,
      'synchronise both with NTP: signatures, tokens and leases depend on them',
    ),
  ];
}
