/** Limits of the ffmpeg runs that encode, and the problem they report. */

/** An encoder without output for this long hangs; a slow one still prints its progress. */
export const silenceMsMax = 5 * 60_000;

const timeoutMsBase = 15 * 60_000;
/** Time for each second of output: eight rungs on a slow core. */
const timeoutMsPerSec = 60_000;
/** The same for each packet of a video with 25 frames a second and no audio. */
const timeoutMsPerPacket = timeoutMsPerSec / 25;

/** How long an encoder may take. The packets bound it: timestamps can make a small source arbitrarily long. */
export function encodeTimeoutMs(durationSec: number, packets: number): number {
  return timeoutMsBase + Math.min(durationSec * timeoutMsPerSec, packets * timeoutMsPerPacket);
}

export const undecodable = {
  code: 'corrupt_input',
  message: 'The source is damaged: it cannot be decoded.',
} as const;
