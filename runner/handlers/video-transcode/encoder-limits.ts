/** Limits of the ffmpeg runs that encode, and the problem they report. */

/** An encoder without output for this long hangs; a slow one still prints its progress. */
export const silenceMsMax = 5 * 60_000;

const timeoutMsBase = 15 * 60_000;
/** Time for each second of source: eight rungs on a slow core. */
const timeoutMsPerSec = 60_000;

/** How long an encoder may take for `durationSec` seconds of source. */
export function encodeTimeoutMs(durationSec: number): number {
  return timeoutMsBase + durationSec * timeoutMsPerSec;
}

export const undecodable = {
  code: 'corrupt_input',
  message: 'The source is damaged: it cannot be decoded.',
} as const;
