/**
 * The containers that a video source may come in, by their first bytes. `demuxers` in runner/tools/ffmpeg.ts is the
 * same list for ffmpeg.
 */

interface Signature {
  readonly container: string;
  readonly matches: (head: Buffer) => boolean;
}

const movBoxes = ['ftyp', 'moov', 'mdat', 'free', 'skip', 'wide', 'pnot', 'styp'];
const tsPacketSizes = [188, 192, 204];

function startsWith(...bytes: number[]): (head: Buffer) => boolean {
  return (head) => head.subarray(0, bytes.length).equals(Buffer.from(bytes));
}

function isTransportStream(head: Buffer): boolean {
  // 192-byte packets have four bytes of time before the sync byte.
  return tsPacketSizes.some((size) =>
    [0, 4].some((offset) => [0, 1, 2, 3].every((n) => head[offset + n * size] === 0x47)),
  );
}

const signatures: readonly Signature[] = [
  { container: 'mov', matches: (head) => movBoxes.includes(head.toString('latin1', 4, 8)) },
  { container: 'matroska', matches: startsWith(0x1a, 0x45, 0xdf, 0xa3) },
  {
    container: 'avi',
    matches: (head) => head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 11) === 'AVI',
  },
  {
    container: 'wav',
    matches: (head) => head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'WAVE',
  },
  { container: 'mpegts', matches: isTransportStream },
  { container: 'mpeg', matches: startsWith(0x00, 0x00, 0x01, 0xba) },
  { container: 'flv', matches: (head) => head.toString('latin1', 0, 3) === 'FLV' },
  { container: 'gif', matches: (head) => ['GIF87a', 'GIF89a'].includes(head.toString('latin1', 0, 6)) },
  { container: 'asf', matches: startsWith(0x30, 0x26, 0xb2, 0x75, 0x8e, 0x66, 0xcf, 0x11) },
  { container: 'ogg', matches: (head) => head.toString('latin1', 0, 4) === 'OggS' },
  { container: 'mxf', matches: startsWith(0x06, 0x0e, 0x2b, 0x34) },
  { container: 'flac', matches: (head) => head.toString('latin1', 0, 4) === 'fLaC' },
  { container: 'mp3', matches: (head) => head.toString('latin1', 0, 3) === 'ID3' },
];

/**
 * The container by the first bytes of a file, or null. An unreadable file is damaged when its container is known, else
 * unsupported.
 *
 * @param head at least the first kilobyte
 */
export function containerOf(head: Buffer): string | null {
  return signatures.find(({ matches }) => matches(head))?.container ?? null;
}
