import { planLadder } from '#domain/media/ladder.ts';
import { defaultEncoding } from '#domain/media/encoding-profile.ts';
import { findProgram } from '../../testing/servers.ts';
import { type BenchLine, type BenchOptions, type BenchSuite, interleave, median, shown } from '../harness.ts';
import { commandsCpuMs, withTreeCpu } from '../support/processor-time.ts';
import { type Service, startService } from '../support/service.ts';

// A transcode through the whole service against one raw ffmpeg with the same encodes, and with the conversions that the
// source needs done once. What ours adds is the examination of the source, packaging, digests and uploads.

const preset = 'veryfast';
const size = { width: 1920, height: 1080 };
const partSec = 10;

interface Case {
  readonly id: string;
  readonly what: string;
  readonly seconds: number;
  /** Of the source: a filter for its frames, and how it is encoded and tagged. */
  readonly rate?: number;
  readonly filter?: string;
  readonly tags: string;
  /** What converts frames to progressive SDR in BT.709, before they are split. */
  readonly conversion?: string;
  /** Whether its time is a line too, beside its processor time. */
  readonly hasWall?: boolean;
}

const bt709 = '-pix_fmt yuv420p -colorspace bt709 -color_primaries bt709 -color_trc bt709';
const toneMap =
  'zscale=w=1920:h=1080:filter=bicubic:tin=smpte2084:min=2020_ncl:pin=2020:t=linear:npl=203,format=gbrpf32le,zscale=p=709,tonemap=tonemap=mobius:param=0.5:peak=5:desat=0,zscale=t=709:m=709:p=709:r=limited,format=yuv420p';
const cases: readonly Case[] = [
  { id: '20s', what: '20 s of 1080p', seconds: 20, tags: bt709, hasWall: true },
  { id: '60s', what: '60 s of 1080p', seconds: 60, tags: bt709, hasWall: true },
  {
    id: 'bt601',
    what: '20 s in BT.601',
    seconds: 20,
    tags: '-pix_fmt yuv420p -colorspace smpte170m -color_primaries smpte170m -color_trc smpte170m',
    conversion: 'zscale=min=170m:rin=limited:tin=709:pin=709:m=709:t=709:p=709:r=limited',
  },
  {
    id: 'pq',
    what: '20 s of HDR (PQ)',
    seconds: 20,
    tags: '-pix_fmt yuv420p10le -colorspace bt2020nc -color_primaries bt2020 -color_trc smpte2084',
    conversion: toneMap,
  },
  {
    id: 'interlaced',
    what: '20 s of 1080i',
    seconds: 20,
    rate: 50,
    filter: ',interlace=scan=tff:lowpass=complex',
    tags: `${bt709} -flags +ilme+ildct -x264-params tff=1`,
    conversion: 'bwdif=mode=send_frame:parity=tff:deint=all',
  },
];

/** Of `BENCH=quick`: without a conversion, and with one. */
const quickCases = ['20s', 'bt601'];

export const transcodeSuite: BenchSuite = {
  name: 'transcode',
  missing() {
    const absent = ['ffmpeg', 'redis-server'].filter((name) => findProgram(name) === null);
    return Promise.resolve(absent.length === 0 ? null : `there is no ${absent.join(' and no ')}`);
  },
  async run(options) {
    const stops: (() => Promise<void>)[] = [];
    try {
      const service = await startService(stops, { X264_PRESET: preset, FFMPEG_PATH: ffmpeg() });
      const lines: BenchLine[] = [];
      for (const one of cases.filter(({ id }) => !options.isQuick || quickCases.includes(id)))
        lines.push(...(await measure(one, service, options)));
      return lines;
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

function ffmpeg(): string {
  return findProgram('ffmpeg') ?? '';
}

/** A flight into a fractal: detail and movement everywhere. The part is encoded once and repeated. */
async function makeSource({ id, seconds, rate = 25, filter = '', tags }: Case, { sourceDir }: Service): Promise<void> {
  const zoom = `start_scale=1.6:end_scale=0.1:end_pts=${rate * partSec}:maxiter=200`;
  const graph = `mandelbrot=s=960x540:r=${rate}:${zoom},scale=1920:1080${filter}`;
  const tone = `sine=frequency=220:beep_factor=4:sample_rate=48000:duration=${partSec}`;
  const encode = `-t ${partSec} -c:v libx264 -preset veryfast -crf 17 ${tags} -c:a aac -b:a 160k -ac 2 part.mp4`;
  const quiet = ['-nostdin', '-v', 'error', '-y'];
  const repeat = `-stream_loop ${seconds / partSec - 1} -i part.mp4 -c copy ${id}.mp4`;
  await commandsCpuMs(
    [
      {
        program: ffmpeg(),
        args: [...quiet, '-f', 'lavfi', '-i', graph, '-f', 'lavfi', '-i', tone, ...encode.split(' ')],
      },
      { program: ffmpeg(), args: [...quiet, ...repeat.split(' ')] },
    ],
    sourceDir,
  );
}

/** The least that makes the same renditions: one decode, every rung and the audio in one ffmpeg. */
function rawCommand({ id, conversion }: Case): { program: string; args: string[] } {
  const rungs = planLadder({ ...size, hdr: 'none' }, defaultEncoding, ['h264']);
  const split = rungs.map((_, index) => `[in${index}]`).join('');
  const common = [...(conversion === undefined ? [] : [conversion]), `split=${rungs.length}`].join(',');
  const flags = 'flags=bicubic+accurate_rnd+full_chroma_int';
  const branches = rungs.map(
    ({ width, height }, index) => `[in${index}]scale=w=${width}:h=${height}:${flags},format=yuv420p[out${index}]`,
  );
  const encodes = rungs.flatMap(({ bitrateMax }, index) => {
    const rate = `-crf ${defaultEncoding.crf} -maxrate ${bitrateMax} -bufsize ${2 * bitrateMax}`;
    const gop = '-g 50 -keyint_min 50 -sc_threshold 0 -flags +cgop';
    const encode = `-c:v libx264 -preset ${preset} -profile:v high ${rate} ${gop} raw-${index}.mp4`;
    return ['-map', `[out${index}]`, ...encode.split(' ')];
  });
  const encodeAudio = '-map 0:a -c:a aac -b:a 128k -ac 2 raw-audio.mp4'.split(' ');
  const graph = [`[0:v]${common}${split}`, ...branches].join(';');
  return {
    program: ffmpeg(),
    args: ['-nostdin', '-v', 'error', '-y', '-i', `${id}.mp4`, '-filter_complex', graph, ...encodes, ...encodeAudio],
  };
}

let hashes = 0;

async function measure(one: Case, service: Service, { rounds }: BenchOptions): Promise<BenchLine[]> {
  await makeSource(one, service);
  const cpu: Record<'ours' | 'raw', number[]> = { ours: [], raw: [] };
  const contenders = {
    ours: async () => {
      const job = { type: 'video:transcode', hash: `bench-${(hashes += 1)}`, source: `${one.id}.mp4` };
      const { result, cpuMs } = await withTreeCpu(service.program, () => service.complete(job));
      cpu.ours.push(cpuMs / 1000);
      return (result.endedAtMs - result.sentAtMs) / 1000;
    },
    raw: async () => {
      const beganMs = performance.now();
      cpu.raw.push((await commandsCpuMs([rawCommand(one)], service.sourceDir)) / 1000);
      return (performance.now() - beganMs) / 1000;
    },
  };
  const wall = await interleave({ rounds, contenders });
  const lineOf = (id: string, what: string, { ours, raw }: typeof wall): BenchLine => ({
    id: `transcode.${id}`,
    what: `${one.what}: ${what}, to one raw ffmpeg`,
    value: median(ours) / median(raw),
    unit: 'ratio',
    ours: shown(ours, 's'),
    peer: shown(raw, 's'),
  });
  return [
    lineOf(`cpu-${one.id}`, 'processor time', cpu),
    ...(one.hasWall === true ? [lineOf(`wall-${one.id}`, 'time', wall)] : []),
  ];
}
