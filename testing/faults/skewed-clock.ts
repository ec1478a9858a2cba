import { existsSync, readFileSync } from 'node:fs';

/** How often a process looks whether its clock was changed. */
const everyMs = 250;

/** Lets `Date` differ from the machine's clock by the milliseconds in a file, while the file is there. */
export function skewClock(file: string): void {
  const RealDate = Date;
  let skewMs = 0;
  class SkewedDate extends RealDate {
    constructor(...given: [] | [number]) {
      if (given.length === 0) super(RealDate.now() + skewMs);
      else super(...given);
    }
    static override now(): number {
      return RealDate.now() + skewMs;
    }
  }
  const look = () => {
    skewMs = existsSync(file) ? Number(readFileSync(file, 'utf8')) || 0 : 0;
    if (skewMs !== 0 && globalThis.Date !== SkewedDate) globalThis.Date = SkewedDate as DateConstructor;
  };
  look();
  setInterval(look, everyMs).unref();
}
