// Scans of sequential JPEG (ITU-T T.81, B.2.3): the last three bytes of a scan header must be 0, 63 and 0. Some phones
// write others, which browsers ignore and libvips calls damage.

const parameters = Buffer.from([0, 63, 0]);

const startOfScan = 0xda;
const endOfImage = 0xd9;
/** Baseline and extended; in a progressive JPEG the parameters have a meaning. */
const sequentialFrames = [0xc0, 0xc1];
/** Start of frame, but for the tables that lie among its codes (DHT, JPG and DAC). */
const isFrame = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

/** As many bytes of a file as its first scan begins in: what comes before are tables, metadata and a preview. */
export const jpegStartBytes = 1024 * 1024;

/** Whether a JPEG, by its first bytes, is sequential and has other parameters in its first scan. */
export function hasOddScan(start: Buffer): boolean {
  const { value: first } = parametersOf(start).next();
  return first !== undefined && !first.equals(parameters);
}

/** Writes the parameters that a sequential JPEG must have into all its scans. */
export function writeScanParameters(content: Buffer): void {
  for (const found of parametersOf(content)) parameters.copy(found);
}

/** The parameters of the scans, as parts of `content`. None of a JPEG that is not sequential. */
function* parametersOf(content: Buffer): Generator<Buffer, void> {
  for (let at = 2; at + 4 <= content.length;) {
    const marker = content[at + 1] ?? 0;
    // Coded data, in which 0xff stands before 0 or the number of a restart.
    if (content[at] !== 0xff || marker === 0 || marker === 0xff || (marker >= 0xd0 && marker <= 0xd7)) {
      at = content.indexOf(0xff, at + 1);
      if (at === -1) return;
      continue;
    }
    if (marker === endOfImage || (isFrame(marker) && !sequentialFrames.includes(marker))) return;
    at += 2 + content.readUInt16BE(at + 2);
    if (marker === startOfScan && at <= content.length) yield content.subarray(at - parameters.length, at);
  }
}
