import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTool } from './media.ts';

// Titles, languages and chapters as no honest source has them: up to 1 MiB, of every plane of Unicode, with bytes that
// are no text, control characters, markup and the syntax of playlists.

/** A generator of numbers below `bound`, the same for each seed (a linear congruence). */
function randomBelow(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

const loneSurrogate = Buffer.from([0xed, 0xa0, 0xbd]);
const longTitle = `${'a'.repeat(199)}😀`;
const longName = `${'b'.repeat(59)}😀`;
/** Texts that once broke something; as bytes where they are no UTF-8. */
const hostileTexts: readonly (string | Buffer)[] = [
  longTitle,
  longName,
  'ä'.repeat(500_000),
  Buffer.concat([Buffer.from('half '), loneSurrogate, Buffer.from(' emoji')]),
  Buffer.from([0xff, 0xfe, 0x41, 0xc0, 0x80]),
  '"\r\n#EXT-X-KEY:METHOD=NONE\n#EXT-X-MEDIA:TYPE=AUDIO,NAME="x",GROUP-ID="y",URI="https://evil.example/',
  '</script><img src=x onerror=alert(1)>]]>&quot;<!--',
  '00:00.000 --> 99:00.000\n\nWEBVTT\nNOTE',
  "\u0001\u0007\u001B[31m\u007F\u0085\u2028\u2029\u202E'`$(id)${x}",
  'en-x-'.padEnd(100_000, 'abcdefgh-'),
  'en",URI="https://evil.example/',
];

/** Code points of every plane, some of them unassigned. */
function anyCharacters(random: (bound: number) => number): string {
  const characters = Array.from({ length: 1 + random(300) }, () => {
    const point = random(17) * 0x1_0000 + random(0x1_0000);
    return point < 1 || (point >= 0xd800 && point <= 0xdfff) ? '?' : String.fromCodePoint(point);
  });
  return characters.join('');
}

/** A value of ffmpeg's metadata format. */
function escaped(value: string | Buffer): Buffer {
  const text = Buffer.from(value).toString('latin1');
  return Buffer.from(text.replaceAll(/[=;#\\\n\r]/g, String.raw`\$&`), 'latin1');
}

/** The metadata of `hostileSource`: of the file, four streams and six chapters. */
function hostileMetadata(seed: number, random: (bound: number) => number): Buffer {
  const some = () => (random(3) === 0 ? anyCharacters(random) : (hostileTexts[random(hostileTexts.length)] ?? ''));
  const lines: Buffer[] = [Buffer.from(';FFMETADATA1\n')];
  const put = (key: string, value: string | Buffer) =>
    lines.push(Buffer.from(`${key}=`), escaped(value), Buffer.from('\n'));
  put('title', some());
  for (let stream = 0; stream < 4; stream += 1) {
    lines.push(Buffer.from('[STREAM]\n'));
    // The two that were once cut in half are in every source.
    put('title', stream === 3 ? longName : some());
    put('language', some());
  }
  for (let chapter = 0; chapter < 6; chapter += 1) {
    const startMs = chapter * 300;
    lines.push(Buffer.from(`[CHAPTER]\nTIMEBASE=1/1000\nSTART=${startMs}\nEND=${startMs + 300}\n`));
    const title = hostileTexts[(seed * 5 + chapter) % hostileTexts.length] ?? '';
    put('title', chapter === 0 ? longTitle : title);
  }
  return Buffer.concat(lines);
}

/**
 * A clip of two seconds with video, audio, two subtitle tracks and six chapters, whose metadata is hostile; the same
 * for each seed. It lies alone in a folder of temporary files, which the caller removes.
 */
export async function hostileSource(seed: number): Promise<{ readonly file: string; readonly folder: string }> {
  const random = randomBelow(seed);
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-metadata-'));
  await writeFile(join(folder, 'metadata.txt'), hostileMetadata(seed, random));
  await writeFile(join(folder, 'cues.srt'), `1\n00:00:00,100 --> 00:00:01,500\n${anyCharacters(random)}\n\n`);
  const inputs = '-f lavfi -i testsrc2=s=64x64:r=25:d=2 -f lavfi -i sine=d=2 -i cues.srt -i metadata.txt';
  const maps = '-map 0 -map 1 -map 2 -map 2 -map_metadata 3 -map_chapters 3';
  const perStream = [0, 1, 2, 3].map((stream) => `-map_metadata:s:${stream} 3:s:${stream}`).join(' ');
  const codecs = '-c:v libx264 -preset ultrafast -c:a flac -c:s srt clip.mkv';
  await runTool('ffmpeg', ['-v', 'error', '-y', ...`${inputs} ${maps} ${perStream} ${codecs}`.split(' ')], folder);
  return { file: join(folder, 'clip.mkv'), folder };
}
