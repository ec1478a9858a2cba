import { markdownTable } from './markdown.ts';
import { changedSample, orientedMp4, rotatedMp4, sample } from './media.ts';
import { phoneTracksMov } from './mp4-boxes.ts';

// Videos of every kind that phones, cameras and editors write, all with one video and one audio stream: half a second
// of black and silence, then four quarters (red and green above, blue and white below) and a tone. Made by ffmpeg.

export type Quarter = 'red' | 'green' | 'blue' | 'white';

/** The properties that a stream must have. Sizes in pixels of the largest rung. */
export interface ExpectedStream {
  readonly width: number;
  readonly height: number;
  /** As ffprobe writes it: `25/1`. */
  readonly rate: string;
  /** May be off by one. */
  readonly frames: number;
  readonly tracks: number;
  /** From the left above to the right below; null where the colours are judged by another test. */
  readonly corners: readonly Quarter[] | null;
  /**
   * The end of the black and of the silence, where both are to be found; each may be off by 40 ms, the other by itself.
   */
  readonly beginsAtSec: { readonly video: number; readonly audio: number } | null;
  readonly warnings: readonly string[];
}

export interface CorpusVideo {
  readonly name: string;
  /** The path of the source. */
  readonly make: () => Promise<string>;
  readonly expected: ExpectedStream | { readonly code: string };
}

interface Look extends Partial<ExpectedStream> {
  /** The length of the source in seconds; its rate in frames a second. */
  readonly seconds?: number;
  readonly fps?: string;
  readonly size?: string;
  /** Filters after the video, options for the audio's input and for the whole; `no` leaves the audio out. */
  readonly filters?: string;
  readonly audio?: string;
}

const x264 = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p';
const upright: readonly Quarter[] = ['red', 'green', 'blue', 'white'];

const quartersOf = (size: string, fps: string, seconds: number, filters = 'null') => {
  const quarters = (['red', 'green', 'blue', 'white'] as const).map((colour, index) => {
    const [x, y] = [index % 2 === 0 ? '0' : 'iw/2', index < 2 ? '0' : 'ih/2'];
    return String.raw`drawbox=x=${x}:y=${y}:w=iw/2:h=ih/2:c=${colour}:t=fill:enable=gte(t\,0.499)`;
  });
  const black = `color=black:s=${size}:r=${fps}:d=${seconds}`;
  // With noise, so that no encoder leaves out equal frames.
  return `-f lavfi -i ${[black, 'format=rgb24', ...quarters, 'noise=alls=10:allf=t', filters].join(',')}`;
};
const toneOf = (seconds: number) =>
  String.raw`-f lavfi -i sine=f=440:r=48000:d=${seconds},volume=volume=0:enable=lt(t\,0.5)`;

/** A source of `args` in a file with the extension `ext`. */
function video(name: string, ext: string, args: string, look: Look = {}): CorpusVideo {
  const { seconds = 1.6, fps = '25', size = '160x120', filters, audio = '', ...wanted } = look;
  const [width = 0, height = 0] = size.split('x').map(Number);
  const hasAudio = audio !== 'no';
  const inputs = [quartersOf(size, fps, seconds, filters), ...(hasAudio ? [audio, toneOf(seconds)] : [])];
  const recipe = [...inputs, args].filter((part) => part !== '').join(' ');
  return {
    name,
    make: () => sample(`corpus-${name.replaceAll(/\W+/g, '-')}.${ext}`, recipe),
    expected: {
      width,
      height,
      rate: fps.includes('/') ? fps : `${fps}/1`,
      frames: Math.round(seconds * 25),
      tracks: hasAudio ? 1 : 0,
      corners: upright,
      beginsAtSec: hasAudio ? { video: 0.5, audio: 0.5 } : null,
      warnings: [],
      ...wanted,
    },
  };
}

const silent = { audio: 'no' } as const;
const codec = (name: string, ext: string, args: string, look: Look = {}) =>
  video(name, ext, args, { ...silent, ...look });

const containers = [
  video('MP4, index first', 'mp4', `${x264} -c:a aac -movflags +faststart`),
  video('MP4, fragmented', 'mp4', `${x264} -c:a aac -movflags frag_keyframe+empty_moov`),
  video(
    'MP4 of a phone: HEVC and AAC',
    'mp4',
    '-c:v libx265 -preset ultrafast -x265-params log-level=error -pix_fmt yuv420p -tag:v hvc1 -c:a aac',
  ),
  video('MOV, H.264 and PCM', 'mov', `${x264} -c:a pcm_s16le`),
  video('MOV of an editor: ProRes 422 and PCM of 24 bits', 'mov', '-c:v prores_ks -pix_fmt yuv422p10le -c:a pcm_s24le'),
  video('Matroska, FFV1 and FLAC', 'mkv', '-pix_fmt yuv420p -c:v ffv1 -c:a flac'),
  video('Matroska, H.264 and Opus', 'mkv', `${x264} -c:a libopus`),
  video('WebM, VP8 and Vorbis', 'webm', '-pix_fmt yuv420p -c:v libvpx -deadline realtime -b:v 2M -c:a libvorbis'),
  video('WebM, VP9 and Opus', 'webm', '-pix_fmt yuv420p -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -c:a libopus'),
  video('MPEG-TS, H.264 and AAC', 'ts', `${x264} -c:a aac`),
  video('M2TS of a camcorder: H.264 and AC-3', 'm2ts', `${x264} -c:a ac3`),
  video('MPEG program stream, MPEG-2 and MP2', 'mpg', '-pix_fmt yuv420p -c:v mpeg2video -q:v 2 -c:a mp2', {
    // Its packets lack times here and there.
    warnings: ['variable_frame_rate'],
  }),
  video('AVI, MPEG-4 and MP3', 'avi', '-pix_fmt yuv420p -c:v mpeg4 -q:v 2 -c:a libmp3lame'),
  video('AVI of a camera: MJPEG and PCM', 'avi', '-pix_fmt yuvj422p -c:v mjpeg -q:v 2 -c:a pcm_s16le'),
  video('FLV, H.264 and AAC', 'flv', `${x264} -c:a aac`),
  video('WMV, WMV2 and WMA', 'wmv', '-pix_fmt yuv420p -c:v wmv2 -q:v 2 -c:a wmav2'),
  video('3GP, H.263 and AAC', '3gp', '-pix_fmt yuv420p -c:v h263 -q:v 2 -c:a aac', {
    size: '176x144',
    filters: 'setsar=1',
  }),
  video('Ogg, Theora and Vorbis', 'ogv', '-pix_fmt yuv420p -c:v libtheora -q:v 10 -c:a libvorbis'),
  video('MXF, MPEG-2 and PCM', 'mxf', '-pix_fmt yuv420p -c:v mpeg2video -q:v 2 -c:a pcm_s16le'),
  codec('GIF', 'gif', ''),
  codec('Animated WebP', 'webp', '-c:v libwebp_anim -lossless 1'),
];

const codecs = [
  codec('AV1 in MP4', 'mp4', '-pix_fmt yuv420p -c:v libaom-av1 -cpu-used 8 -usage realtime'),
  codec('HEVC of 10 bits', 'mkv', '-c:v libx265 -preset ultrafast -x265-params log-level=error -pix_fmt yuv420p10le'),
  codec('H.264 of 10 bits', 'mkv', '-c:v libx264 -preset ultrafast -pix_fmt yuv420p10le'),
  codec('H.264, 4:4:4', 'mp4', '-c:v libx264 -preset ultrafast -pix_fmt yuv444p'),
  codec('FFV1, 4:2:2 of 10 bits', 'mkv', '-pix_fmt yuv422p10le -c:v ffv1'),
  codec('PNG in MOV, RGB with transparency', 'mov', '-pix_fmt rgba -c:v png'),
  codec('QuickTime Animation', 'mov', '-pix_fmt rgb24 -c:v qtrle'),
  codec('ProRes 4444', 'mov', '-c:v prores_ks -pix_fmt yuva444p10le'),
  codec('H.264 with B-frames', 'mp4', '-c:v libx264 -preset veryfast -bf 3 -pix_fmt yuv420p'),
  codec('Interlaced MPEG-2', 'mpg', '-pix_fmt yuv420p -c:v mpeg2video -q:v 2 -flags +ildct+ilme', {
    fps: '50',
    filters: 'tinterlace=interleave_top',
    rate: '25/1',
  }),
  codec(
    'PQ (HDR10)',
    'mkv',
    '-c:v libx265 -preset ultrafast -pix_fmt yuv420p10le -x265-params log-level=error:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc',
    { corners: null, warnings: ['above_profile'] },
  ),
  codec(
    'HLG',
    'mkv',
    '-c:v libx265 -preset ultrafast -pix_fmt yuv420p10le -x265-params log-level=error:colorprim=bt2020:transfer=arib-std-b67:colormatrix=bt2020nc',
    { corners: null, warnings: ['above_profile'] },
  ),
];

const rates = [
  codec('1 frame a second', 'mp4', x264, { fps: '1', seconds: 4, rate: '10/1', frames: 40 }),
  codec('5 frames a second', 'mp4', x264, { fps: '5', seconds: 2, rate: '10/1', frames: 20 }),
  codec('23.976 frames a second', 'mkv', x264, { fps: '24000/1001', seconds: 2, frames: 48 }),
  codec('120 frames a second', 'mp4', x264, {
    fps: '120',
    seconds: 1,
    rate: '60/1',
    frames: 60,
    warnings: ['above_profile'],
  }),
  codec('Variable rate', 'mkv', `-fps_mode passthrough ${x264}`, {
    fps: '30',
    seconds: 3,
    filters: String.raw`select=not(eq(mod(n\,5)\,1))*not(eq(mod(n\,7)\,2))`,
    frames: 90,
    warnings: ['variable_frame_rate'],
  }),
];

const sizes = [
  codec('16 × 16', 'mp4', x264, { size: '16x16' }),
  codec('Odd size: 161 × 121', 'mkv', '-pix_fmt yuv444p -c:v ffv1', { size: '161x121', width: 160, height: 120 }),
  codec('Pixels of 4:3', 'mp4', x264, { size: '120x120', filters: 'setsar=4/3', width: 160 }),
  codec('Portrait: 90 × 160', 'mp4', x264, { size: '90x160' }),
  codec('Panorama: 640 × 64', 'mp4', x264, { size: '640x64' }),
  codec('4K: 3840 × 2160', 'mp4', x264, {
    size: '3840x2160',
    seconds: 0.6,
    filters: 'scale=out_color_matrix=bt709',
    width: 1920,
    height: 1080,
    frames: 15,
    warnings: ['above_profile'],
  }),
];

/** The matrix (a b c d) of ISO 14496-12 that phones write, and the corners as they are shown. */
const orientations: readonly [string, readonly [number, number, number, number], readonly Quarter[]][] = [
  ['mirrored', [-1, 0, 0, 1], ['green', 'red', 'white', 'blue']],
  ['transposed', [0, 1, 1, 0], ['red', 'blue', 'green', 'white']],
  ['turned by 270°', [0, -1, 1, 0], ['green', 'white', 'red', 'blue']],
];
const lying = () => sample('corpus-lying.mp4', `${quartersOf('160x120', '25', 1.6)} ${x264}`);
const turns = orientations.map(([how, matrix, corners]): CorpusVideo => {
  const isUpright = matrix[0] === 0;
  const base = codec(`MP4, ${how}`, 'mp4', x264, { size: isUpright ? '120x160' : '160x120', corners });
  const name = `corpus-${how.replaceAll(/\W+/g, '-')}-${matrix.join('')}.mp4`;
  return { ...base, make: async () => changedSample(name, await lying(), (bytes) => orientedMp4(bytes, matrix)) };
});
const turned: CorpusVideo = {
  ...codec('MP4, turned by 90°', 'mp4', x264, { size: '120x160', corners: ['blue', 'red', 'white', 'green'] }),
  make: async () => changedSample('corpus-turned.mp4', await lying(), rotatedMp4),
};

const tagged: CorpusVideo = {
  ...codec('Matroska, turned by a tag alone, which ffmpeg and browsers ignore', 'mkv', x264),
  make: async () => {
    const untagged = await sample('corpus-other-tag.mkv', `-i ${await lying()} -c copy -metadata:s:v rotatx=90`);
    return changedSample('corpus-tagged.mkv', untagged, (bytes) =>
      Buffer.from(bytes.toString('latin1').replace(/rotatx/i, 'rotate'), 'latin1'),
    );
  },
};

const nineTracks = Array.from({ length: 8 }, (_, index) => `-f lavfi -i sine=f=${300 + 50 * index}:d=1.6`).join(' ');
const nineMaps = Array.from({ length: 10 }, (_, index) => `-map ${index}`).join(' ');
const audioVariants = [
  codec('No audio', 'mp4', x264),
  video('Mono of 22.05 kHz', 'mp4', `${x264} -c:a aac -ar 22050 -ac 1`),
  video('5.1 channels, AC-3', 'mkv', `${x264} -c:a ac3 -ac 6`, { warnings: ['above_profile'] }),
  video('Nine audio tracks', 'mkv', `${nineTracks} ${nineMaps} ${x264} -c:a flac`, {
    tracks: 8,
    warnings: ['audio_tracks_dropped'],
  }),
  video('Silence', 'mp4', `${x264} -c:a aac -af volume=0`, { beginsAtSec: null }),
  video('Audio longer than the video', 'mp4', `-filter:a apad=pad_dur=1 ${x264} -c:a aac`, { frames: 65 }),
];

const times = [
  video('Audio 0.3 s late', 'mkv', `${x264} -c:a flac`, {
    audio: '-itsoffset 0.3',
    beginsAtSec: { video: 0.5, audio: 0.8 },
    frames: 48,
  }),
  video('Times from ten hours on', 'ts', `${x264} -c:a aac -output_ts_offset 36000`),
  video('Times that wrap (33 bits)', 'ts', `${x264} -c:a aac -output_ts_offset 95442.7`),
  video('Times below 0', 'mkv', `${x264} -c:a flac -output_ts_offset -0.5 -avoid_negative_ts disabled`),
  codec('One frame', 'mp4', `${x264} -frames:v 1`, { frames: 1, corners: null }),
  codec('Live Matroska without a length', 'mkv', `${x264} -f matroska -live 1`),
  video('MP4 in fragments, with an index and longer audio', 'mp4', `${x264} -c:a aac -movflags dash+global_sidx`),
  video('MOV with a track of time codes', 'mov', `${x264} -c:a aac -timecode 01:00:00:00`),
  video(
    'WebM of a browser, without a length',
    'webm',
    '-pix_fmt yuv420p -c:v libvpx -deadline realtime -b:v 2M -c:a libopus -live 1',
  ),
  video(
    'MP4 with cover art',
    'mp4',
    `-f lavfi -i color=red:s=64x64:d=0.04 -map 0 -map 1 -map 2 ${x264} -c:v:1 mjpeg -disposition:v:1 attached_pic -c:a aac`,
  ),
  video('Two video streams', 'mp4', `-f lavfi -i testsrc=s=64x64:d=1.6 -map 0 -map 1 -map 2 ${x264} -c:a aac`, {
    warnings: ['video_streams_left_out'],
  }),
];

const twoPrograms = video(
  'MPEG-TS with two programs',
  'ts',
  `-f lavfi -i testsrc=s=64x64:d=1.6 -f lavfi -i sine=f=880:d=1.6 -map 0 -map 1 -map 2 -map 3 ${x264} -c:a aac -program st=0:st=1 -program st=2:st=3`,
);

const edited: CorpusVideo = {
  ...codec('MP4, trimmed on a phone (edit list between key frames)', 'mp4', x264, { frames: 30 }),
  make: async () => sample('corpus-trimmed.mp4', `-ss 0.4 -i ${await lying()} -c copy`),
};

const slides: CorpusVideo = {
  ...codec('Slides, of which the last lasts 3 s', 'mp4', x264, {
    frames: 40,
    rate: '10/1',
  }),
  make: async () => {
    const two = await sample(
      'corpus-two.mp4',
      String.raw`${quartersOf('160x120', '1', 2)} -fps_mode passthrough ${x264}`,
    );
    return sample(
      'corpus-slides.mp4',
      String.raw`-i ${two} -c copy -bsf:v setts=duration=if(eq(N\,1)\,3/TB\,DURATION)`,
    );
  },
};

/** A display set of PGS without an image, as a file of its own: a composition and an end. */
const emptyPgs = Buffer.concat(
  [[0x16, 0, 160, 0, 120, 0x10, 0, 0, 0x80, 0, 0, 0], [0x80]].map(([type = 0, ...body]) =>
    Buffer.from([0x50, 0x47, 0, 0, 0, 0, 0, 0, 0, 0, type, 0, body.length, ...body]),
  ),
);
const withImageSubtitles: CorpusVideo = {
  ...codec('Matroska, subtitles that are images (PGS)', 'mkv', x264, { warnings: ['subtitles_left_out'] }),
  make: async () => {
    const subtitles = await changedSample('corpus-pgs.sup', import.meta.filename, () => emptyPgs);
    return sample('corpus-pgs.mkv', `-i ${await lying()} -i ${subtitles} -map 0 -map 1 -c copy`);
  },
};

const scratched: CorpusVideo = {
  ...codec('MP4 with a few damaged bytes', 'mp4', x264, { frames: 300, warnings: ['damaged_frames'] }),
  make: async () => {
    const long = await sample('corpus-long-gops.mp4', `${quartersOf('160x120', '25', 12)} ${x264} -g 25`);
    return changedSample('corpus-scratched.mp4', long, (bytes) =>
      Buffer.from(bytes).fill(0x55, bytes.length >> 1, (bytes.length >> 1) + 1500),
    );
  },
};

/** A recording of broadcasts, or of calls, in which the frame size changes. */
const resized: CorpusVideo = {
  ...codec('MPEG-TS whose frame grows from 4:3 to 16:9', 'ts', x264, { size: '320x180', frames: 80 }),
  make: async () => {
    const narrow = await sample('corpus-narrow.ts', `${quartersOf('160x120', '25', 1.6)} ${x264}`);
    const wide = await sample('corpus-wide.ts', `${quartersOf('320x180', '25', 1.6)} ${x264} -output_ts_offset 1.6`);
    return sample('corpus-resized.ts', `-i concat:${narrow}|${wide} -c copy`);
  },
};

/** Beside its audio and video: audio of a kind that nothing here decodes, and a track of measurements. */
const phone: CorpusVideo = {
  ...video('MOV of a phone: spatial sound and a track of measurements', 'mov', '', {
    warnings: ['audio_track_skipped'],
  }),
  make: async () => {
    const tracks = await sample(
      'corpus-tracks.mov',
      `${quartersOf('160x120', '25', 1.6)} ${toneOf(1.6)} -map 0 -map 1 -map 1 -map 1 ${x264} -c:a aac`,
    );
    return changedSample('corpus-phone.mov', tracks, phoneTracksMov);
  },
};

const refusedBy = (code: string, name: string, make: () => Promise<string>): CorpusVideo => ({
  name,
  make,
  expected: { code },
});
const whole = () => sample('corpus-whole.mp4', `${quartersOf('160x120', '25', 4)} ${toneOf(4)} ${x264} -c:a aac`);
const cutOff = (name: string, from: () => Promise<string>) => async () =>
  await changedSample(name, await from(), (bytes) => bytes.subarray(0, bytes.length / 2));
const written = (name: string, text: string) => async () =>
  await changedSample(name, import.meta.filename, () => Buffer.from(text));

const refusals = [
  refusedBy('no_video_stream', 'Audio alone: MP3', () => sample('corpus-audio.mp3', `${toneOf(1)} -c:a libmp3lame`)),
  refusedBy('no_video_stream', 'Audio with cover art', () =>
    sample(
      'corpus-art.mp3',
      `${toneOf(1)} -f lavfi -i color=red:s=64x64:d=0.04 -map 0 -map 1 -c:v mjpeg -disposition:v attached_pic -c:a libmp3lame`,
    ),
  ),
  refusedBy('corrupt_input', 'MP4, cut off in the middle', cutOff('corpus-cut.mp4', whole)),
  refusedBy(
    'corrupt_input',
    'MP4, index first, cut off in the middle',
    cutOff('corpus-cut-front.mp4', () =>
      sample(
        'corpus-front.mp4',
        `${quartersOf('160x120', '25', 4)} ${toneOf(4)} ${x264} -c:a aac -movflags +faststart`,
      ),
    ),
  ),
  refusedBy('corrupt_input', 'A gap of 200 s without video and audio', () =>
    sample(
      'corpus-gap.mkv',
      String.raw`${quartersOf('160x120', '25', 4, String.raw`setpts=PTS+gte(N\,50)*200/TB`)} -fps_mode passthrough ${x264}`,
    ),
  ),
  refusedBy('limit_exceeded', 'Thirteen hours', () =>
    sample('corpus-long.mp4', `-f lavfi -i color=s=64x64:r=1/600:d=46800 ${x264}`),
  ),
  refusedBy('limit_exceeded', 'A frame of 67 megapixels', () =>
    sample('corpus-bomb.mov', '-f lavfi -i color=s=8192x8192:r=1:d=1 -pix_fmt gray -c:v png'),
  ),
  refusedBy('unsupported_media', 'Encrypted by Common Encryption', () =>
    sample(
      'corpus-protected.mp4',
      `${quartersOf('160x120', '25', 2)} ${x264} -encryption_scheme cenc-aes-ctr -encryption_key ffeeddccbbaa99887766554433221100 -encryption_kid 00112233445566778899aabbccddeeff`,
    ),
  ),
  refusedBy(
    'unsupported_media',
    'A playlist',
    written('corpus-list.m3u8', '#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:3,\na.ts\n#EXT-X-ENDLIST\n'),
  ),
  refusedBy('unsupported_media', 'An empty file', written('corpus-empty', '')),
  refusedBy('unsupported_media', 'Text', written('corpus-text.txt', 'plain text')),
  refusedBy('unsupported_media', 'A PNG', () =>
    sample('corpus-still.png', '-f lavfi -i color=red:s=64x64 -frames:v 1'),
  ),
  refusedBy('corrupt_input', 'An MP4 header alone', async () =>
    changedSample('corpus-header.mp4', await lying(), (bytes) => bytes.subarray(0, 64)),
  ),
];

/** Containers, codecs, frame rates and frame sizes. */
export const videoFormats: readonly CorpusVideo[] = [containers, codecs, rates, sizes].flat();

/** Orientations, audio, times and whatever else is odd, damaged or refused. */
export const oddVideos: readonly CorpusVideo[] = [
  turned,
  tagged,
  ...[turns, audioVariants, times].flat(),
  twoPrograms,
  edited,
  slides,
  withImageSubtitles,
  scratched,
  resized,
  phone,
  ...refusals,
];

const pageHead = `# Videos that are tried

Made by ffmpeg and put through the runner by \`runner-corpus-formats.deep.test.ts\` and
\`runner-corpus-odd.deep.test.ts\`; \`make generate\` writes this page. A stream is judged by its decoded frames and
samples: size, rate, number of frames (one may be missing or too many), the colours of four quarters and their places,
and where video and audio begin, within 40 ms of each other.`;

/** The corpus as a page in Markdown, with one row a source. */
export function corpusPage(): string {
  const rows = [...videoFormats, ...oddVideos].map(({ name, expected }) => {
    if ('code' in expected) return [name, `\`${expected.code}\``];
    const { width, height, rate, frames, tracks, warnings } = expected;
    const [num = 0, den = 1] = rate.split('/').map(Number);
    const warned = warnings.map((code) => `, warning \`${code}\``).join('');
    const fps = Number((num / den).toFixed(3));
    const audio = tracks === 1 ? '1 audio track' : `${tracks} audio tracks`;
    return [name, `${width} × ${height}, ${frames} frames at ${fps}, ${audio}${warned}`];
  });
  return `${pageHead}\n\n${markdownTable([['source', 'result'], ...rows])}\n`;
}
