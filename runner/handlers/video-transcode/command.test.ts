import { describe, expect, it } from 'vitest';
import type { AudioPlan } from '#domain/media/audio-plan.ts';
import { gridOf } from '#domain/media/grid.ts';
import { planLadder } from '#domain/media/ladder.ts';
import { defaultEncoding, type EncodingProfile, encodingProfileOf } from '#domain/media/encoding-profile.ts';
import { mediaProfilesSchema, type NamedProfile, videoCodecs } from '#domain/media/profiles.ts';
import type { VideoSource } from '../../source/examine-video.ts';
import type { Mastering } from '../../source/mastering.ts';
import { sourceArgs } from '../../tools/ffmpeg.ts';
import { encodeAudioCommand } from './audio-command.ts';
import { copyCaptionsCommand, encodeVideoCommand, extractCaptionsCommand } from './command.ts';

const words = (text: string) => text.split(' ');

const profile = defaultEncoding;
const video: VideoSource['video'] = {
  streamIndex: 0,
  codec: 'h264',
  width: 960,
  height: 540,
  averageRate: { num: 25, den: 1 },
  sourceRate: { num: 25, den: 1 },
  shiftSec: 0,
  isScattered: false,
  rotation: 0,
  isMirrored: false,
  isUpright: true,
  stored: { width: 960, height: 540, sampleAspect: 1 },
  hdr: 'none',
  toneMap: null,
  pixelFormat: 'yuv420p',
  isFlaggedInterlaced: false,
  isFullRange: false,
  matrix: 'bt709',
  widePrimaries: null,
  refusedMatrix: null,
  decoder: null,
  hasAlpha: false,
  hasZscale: true,
  startSec: 0,
  endSec: 10,
  rate: { num: 25, den: 1 },
  fieldOrder: 'progressive',
};
const audio: VideoSource['audio'][number] = {
  streamIndex: 1,
  codec: 'aac',
  channels: 2,
  sampleRate: 48_000,
  channelLayout: 'stereo',
  language: 'eng',
  title: undefined,
  isDefault: true,
  role: null,
  endSec: 10,
};
const guard = [...sourceArgs, ...words('-max_pixels 36000000 -flags +unaligned -i source')];
/** With the same filters for frames of any size. */
const goingOn = [...guard.slice(0, -2), ...words('-reinit_filter 0 -i source')];
const quiet = [
  '-nostdin',
  '-hide_banner',
  '-nostats',
  '-loglevel',
  'warning',
  '-y',
  '-progress',
  'pipe:1',
  '-stats_period',
  '0.5',
];
const mp4 = ['-movflags', '+frag_keyframe+delay_moov+default_base_moof', '-f', 'mp4'];
const noMetadata = ['-map_metadata', '-1', '-map_chapters', '-1'];

const mastering: Mastering = {
  display: {
    red: [0.68, 0.32],
    green: [0.265, 0.69],
    blue: [0.15, 0.06],
    white: [0.3127, 0.329],
    luminance: [1000, 0.005],
  },
  contentLight: [1000, 400],
};

function encode(
  more: Partial<VideoSource['video']> = {},
  span = { frames: 250, heldFrames: 0 },
  encoding: { profile: EncodingProfile; isEncrypted: boolean; mastering?: Mastering } = { profile, isEncrypted: false },
) {
  const source = { path: 'source', video: { ...video, ...more }, audio: [audio] };
  const rungs = planLadder(source.video, encoding.profile, videoCodecs).map((track) => ({
    track,
    path: `made/${track.id}.mp4`,
  }));
  const grid = gridOf(source.video.rate, profile);
  return encodeVideoCommand('ffmpeg', { source, grid, span, rungs, mastering, ...encoding });
}

const graphOf = (command: { args: readonly string[] }) => command.args[command.args.indexOf('-filter_complex') + 1];

const x264 = (bitrate: number) => [
  ...words('-c:v libx264 -preset medium -profile:v high -pix_fmt yuv420p'),
  ...words(`-crf 23 -maxrate ${bitrate} -bufsize ${2 * bitrate}`),
  ...words('-g 50 -keyint_min 50 -sc_threshold 0 -flags +cgop'),
  ...words('-fps_mode passthrough'),
  ...noMetadata,
  ...mp4,
];
const toStream = (size: string) =>
  `scale=${size}:flags=bicubic+accurate_rnd+full_chroma_int:in_color_matrix=bt709:out_color_matrix=bt709:out_range=limited,` +
  'setsar=1,format=yuv420p,setparams=color_primaries=bt709:color_trc=bt709:colorspace=bt709:range=limited';

const fitted =
  "scale=w='if(lt(abs(dar/1.777778-1),0.02),960,trunc(min(960,540*dar/1)/2)*2)'" +
  ":h='if(lt(abs(dar/1.777778-1),0.02),540,trunc(min(540,960*1/dar)/2)*2)'" +
  ':eval=frame:flags=bicubic+accurate_rnd+full_chroma_int,pad=w=960:h=540:x=-1:y=-1:eval=frame,';

describe('the command that encodes video', () => {
  it('the video command decodes once and writes every rung on one grid', () => {
    expect(encode()).toEqual({
      program: 'ffmpeg',
      args: [
        ...quiet,
        ...goingOn,
        '-max_error_rate',
        '0.05',
        '-filter_complex',
        `[0:0]${fitted}fps=fps=25:start_time=0,trim=end_frame=250,sidedata=mode=delete,split=2[in0][in1];[in0]${toStream('w=640:h=360')}[out0];[in1]${toStream('w=960:h=540')}[out1]`,
        ...words('-map [out0]'),
        ...x264(730_000),
        'made/r360_h264.mp4',
        ...words('-map [out1]'),
        ...x264(2_000_000),
        'made/r540_h264.mp4',
        ...words('-map 0:1 -c copy -f null -'),
      ],
    });
  });

  it('interlaced video is deinterlaced before the rate is set', () => {
    expect(graphOf(encode({ fieldOrder: 'bff' }))).toContain(
      `[0:0]${fitted}bwdif=mode=send_frame:parity=bff:deint=all,fps=fps=25:start_time=0,trim=end_frame=250,sidedata=mode=delete,split=2`,
    );
  });

  it('times that a container rounds are moved before the rate is set', () => {
    expect(graphOf(encode({ shiftSec: -0.0205 }))).toContain(`${fitted}setpts=round(PTS+(-0.020500)/TB),fps=fps=25:`);
  });

  it('the last frame is held while the audio goes on', () => {
    expect(graphOf(encode({}, { frames: 325, heldFrames: 75 }))).toContain(
      'fps=fps=25:start_time=0,tpad=stop_mode=clone:stop=75,trim=end_frame=325,sidedata=mode=delete,split=2',
    );
  });

  it.each([
    ['pq', 'smpte2084'],
    ['hlg', 'arib-std-b67'],
  ] as const)(
    '%s is mapped to SDR once, at the size of the largest rung, from reference white',
    (toneMap, transfer) => {
      const graph = graphOf(encode({ toneMap, matrix: 'bt2020' }));
      expect(graph).toContain(
        `zscale=w=960:h=540:filter=bicubic:tin=${transfer}:min=2020_ncl:pin=2020:t=linear:npl=203,format=gbrpf32le,` +
          'zscale=p=709,tonemap=tonemap=mobius:param=0.5:peak=5:desat=0,zscale=t=709:m=709:p=709:r=limited,format=yuv420p,' +
          'sidedata=mode=delete,split=2',
      );
      expect(graph).toContain('in_color_matrix=bt709:out_color_matrix=bt709');
    },
  );

  it.each([
    ['BT.601', { matrix: 'bt601' }, 'min=170m:rin=limited'],
    ['BT.2020 with 10 bits', { matrix: 'bt2020', pixelFormat: 'yuv420p10le' }, 'min=2020_ncl:rin=limited'],
    ['full range', { isFullRange: true, pixelFormat: 'yuvj422p' }, 'min=709:rin=full'],
  ] as const)('the matrix of %s is converted once, before the rungs', (_, more, input) => {
    const graph = graphOf(encode(more));
    expect(graph).toContain(
      `,zscale=${input}:tin=709:pin=709:m=709:t=709:p=709:r=limited,sidedata=mode=delete,split=2`,
    );
    expect(graph).not.toContain('in_range');
    expect(graph?.match(/in_color_matrix=bt709:out_color_matrix=bt709/g)).toHaveLength(2);
  });

  it('transparent frames are laid over black before all else', () => {
    const graph = graphOf(encode({ pixelFormat: 'rgba', hasAlpha: true }));
    expect(graph).toMatch(/^\[0:0\]format=gbrap\|gbrap10le\|gbrap12le\|gbrap16le,premultiply=inplace=1,fps=fps=25:/);
  });

  it.each([
    ['RGB', { pixelFormat: 'bgr0' }],
    ['an ffmpeg without zscale', { hasZscale: false }],
  ])('the matrix of %s is converted in each rung', (_, more) => {
    const graph = graphOf(encode({ matrix: 'bt601', isFullRange: true, ...more }));
    expect(graph).not.toContain('zscale');
    expect(graph?.match(/in_color_matrix=bt601:in_range=full:out_color_matrix/g)).toHaveLength(2);
  });

  it('a rate without a decimal form is written as a ratio', () => {
    expect(graphOf(encode({ rate: { num: 30_000, den: 1001 } }))).toContain('fps=fps=30000/1001:');
  });
});

describe('the encoders of several codecs', () => {
  const { byName } = mediaProfilesSchema.parse({
    profiles: {
      wide: {
        ladder: [
          { short_side: 540, bitrate: 2_000_000 },
          { codec: 'hevc', short_side: 540, bitrate: 1_200_000 },
          { codec: 'av1', short_side: 540, bitrate: 1_000_000 },
        ],
        hdr: 'keep',
      },
    },
  });
  const wide = encodingProfileOf(byName.get('wide') as NamedProfile);
  const argsOf = (more: Partial<VideoSource['video']>, isEncrypted = false) =>
    encode(more, undefined, { profile: wide, isEncrypted });

  it('HDR is mapped for H.264 and kept for the others, from one decode', () => {
    const command = argsOf({ hdr: 'pq', toneMap: 'pq', matrix: 'bt2020' });
    const kept =
      'scale=w=960:h=540:flags=bicubic+accurate_rnd+full_chroma_int:in_color_matrix=bt2020:in_range=limited:out_color_matrix=bt2020:out_range=limited,' +
      'setsar=1,format=yuv420p10le,setparams=color_primaries=bt2020:color_trc=smpte2084:colorspace=bt2020nc:range=limited';
    const graph = graphOf(command) ?? '';
    expect(graph).toMatch(
      /eval=frame,fps=fps=25:start_time=0,trim=end_frame=250,split=2\[sdr\]\[hdr\];\[sdr\]zscale=w=960:/,
    );
    expect(graph).toContain(
      ',sidedata=mode=delete,split=1[in0];[hdr]sidedata=mode=delete,split=2[in1][in2];[in0]scale=',
    );
    expect(graph).toContain(`;[in1]${kept}[out1];[in2]${kept}[out2]`);
    const args = command.args.join(' ');
    expect(args).toContain(
      '-c:v libx265 -preset medium -profile:v main10 -pix_fmt yuv420p10le -tag:v hvc1 -crf 25 -maxrate 1200000 -bufsize 2400000 ' +
        '-x265-params log-level=error:keyint=50:min-keyint=50:scenecut=0:open-gop=0:hdr10=1:' +
        'master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50):max-cll=1000,400 -fps_mode',
    );
    expect(args).toContain(
      '-c:v libsvtav1 -preset 8 -pix_fmt yuv420p10le -crf 32 -maxrate 1000000 -bufsize 2000000 -g 50 -svtav1-params scd=0:irefresh-type=2:' +
        'mastering-display=G(0.26500,0.69000)B(0.15000,0.06000)R(0.68000,0.32000)WP(0.31270,0.32900)L(1000.00000,0.00500):content-light=1000,400 -fps_mode',
    );
  });

  it('encrypted AV1 has no metadata units, which the packager cannot encrypt', () => {
    const args = argsOf({ hdr: 'pq', toneMap: 'pq', matrix: 'bt2020' }, true).args.join(' ');
    expect(args).toContain('-svtav1-params scd=0:irefresh-type=2 -fps_mode');
    expect(args).toContain('master-display=');
  });
});

describe('the command that encodes audio', () => {
  const plan: AudioPlan = {
    id: 'audio_en_aac_2ch',
    streamIndex: 1,
    channels: 2,
    channelLayout: 'stereo',
    outputChannels: 2,
    language: 'en',
    name: 'English',
    role: 'main',
    isDefault: true,
  };
  const source = { path: 'source', video, audio: [audio] };

  it('the audio command makes every track as long as the video, from time 0 on', () => {
    const tracks = [{ track: plan, path: 'made/audio/audio_en_aac_2ch.mp4', gainDb: 0 }];
    expect(encodeAudioCommand('ffmpeg', { source, tracks, samples: 479_232, profile })).toEqual({
      program: 'ffmpeg',
      args: [
        ...quiet,
        ...guard,
        ...words('-map 0:1 -af'),
        'aresample=48000:async=1:first_pts=0,aformat=sample_fmts=fltp:sample_rates=48000:channel_layouts=stereo,apad=whole_len=479232,atrim=end_sample=479232',
        ...words('-c:a aac -profile:a aac_low -b:a 128000 -ac 2'),
        ...noMetadata,
        ...mp4,
        'made/audio/audio_en_aac_2ch.mp4',
        ...words('-map 0:0 -map 0:1 -c copy -f null -'),
      ],
    });
  });

  const surround: AudioPlan = { ...plan, channels: 6, channelLayout: '5.1(side)', outputChannels: 6 };

  it('a track of 5.1 has three times the bit rate of a stereo one, and a gain comes last', () => {
    const tracks = [{ track: surround, path: 'a.mp4', gainDb: -2.5 }];
    const { args } = encodeAudioCommand('ffmpeg', { source, tracks, samples: 1024, profile });
    expect(args[args.indexOf('-af') + 1]).toMatch(/channel_layouts=5\.1,.*,atrim=end_sample=1024,volume=-2\.5dB$/);
    expect(args.join(' ')).toContain('-b:a 384000 -ac 6');
  });
});

it('captions inside of frames are copied within the limits of a source', () => {
  const source = { path: 'source', video: { ...video, streamIndex: 3 } };
  expect(copyCaptionsCommand('ffmpeg', { source, path: 'made/captions.nut' })).toEqual({
    program: 'ffmpeg',
    args: [
      ...words('-nostdin -hide_banner -nostats -loglevel warning -y -copyts'),
      ...sourceArgs,
      ...words('-max_pixels 36000000 -flags +unaligned -i source -map 0:3 -vf scale=32:32 -fps_mode passthrough'),
      ...words('-c:v libx264 -preset ultrafast -crf 51 -pix_fmt yuv420p -a53cc 1 -enc_time_base 1:90000'),
      ...words('-map_metadata -1 -map_chapters -1 -f nut made/captions.nut'),
    ],
  });
});

it('captions are read by a filter that opens the copy by one demuxer, at times from the start of the source', () => {
  const captions = { input: 'made/captions.nut', startSec: 1.4, path: 'made/text/text_und.vtt', durationSec: 20 };
  const graph =
    'movie=filename=made/captions.nut:format_name=nut:format_opts=protocol_whitelist=file,setpts=PTS-1.400000/TB[out+subcc]';
  expect(extractCaptionsCommand('ffmpeg', captions)).toEqual({
    program: 'ffmpeg',
    args: [
      ...words('-nostdin -hide_banner -nostats -loglevel warning -y -copyts -data_field first -f lavfi -i'),
      graph,
      ...words('-map_metadata -1 -map_chapters -1 -map 0:s:0 -c:s webvtt -t 20.000 -f webvtt made/text/text_und.vtt'),
    ],
  });
});
