import { expect, it } from 'vitest';
import { codecsOfMaster, type MasterContents, revisionMaster } from './revision-master.ts';
import { storyboardLine } from './storyboard.ts';

const video = {
  id: 'r540_h264',
  family: 'h264' as const,
  range: 'sdr' as const,
  width: 960,
  height: 540,
  codec: 'avc1.64001f',
  bandwidth: { average: 1_500_000, peak: 2_000_000 },
  iframeBandwidth: { average: 90_000, peak: 100_000 },
};
const english = {
  id: 'audio_en_aac_2ch',
  name: 'English',
  language: 'en',
  isDefault: true,
  channels: 2,
  codec: 'mp4a.40.2',
  bandwidth: { average: 128_000, peak: 130_000 },
};

const rate = { num: 30_000, den: 1001 };
const nothing = { video: [], audio: [], text: [], storyboard: null, keyEndpoint: null, hasChapters: false };
const masterOf = (contents: Partial<MasterContents>) => revisionMaster({ ...nothing, rate, ...contents });

it('a master lists the variants in the given order, with the bandwidth of video plus the largest audio', () => {
  const unnamed = {
    ...english,
    id: 'audio_und_aac_2ch',
    name: 'Audio',
    language: null,
    isDefault: false,
    bandwidth: { average: 129_000, peak: 131_000 },
  };
  const small = {
    ...video,
    id: 'r360_h264',
    width: 640,
    height: 360,
    codec: 'avc1.64001e',
    bandwidth: { average: 500_000, peak: 700_000 },
  };
  expect(masterOf({ video: [video, small], audio: [english, unnamed] })).toBe(`#EXTM3U
#EXT-X-VERSION:6
#EXT-X-INDEPENDENT-SEGMENTS

#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="audio/audio_en_aac_2ch/playlist.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="Audio",DEFAULT=NO,AUTOSELECT=YES,CHANNELS="2",URI="audio/audio_und_aac_2ch/playlist.m3u8"

#EXT-X-STREAM-INF:BANDWIDTH=2131000,AVERAGE-BANDWIDTH=1629000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=960x540,FRAME-RATE=29.970,VIDEO-RANGE=SDR,AUDIO="audio",CLOSED-CAPTIONS=NONE
video/r540_h264/playlist.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=831000,AVERAGE-BANDWIDTH=629000,CODECS="avc1.64001e,mp4a.40.2",RESOLUTION=640x360,FRAME-RATE=29.970,VIDEO-RANGE=SDR,AUDIO="audio",CLOSED-CAPTIONS=NONE
video/r360_h264/playlist.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=131000,AVERAGE-BANDWIDTH=129000,CODECS="mp4a.40.2",AUDIO="audio",CLOSED-CAPTIONS=NONE
audio/audio_en_aac_2ch/playlist.m3u8

#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=100000,AVERAGE-BANDWIDTH=90000,CODECS="avc1.64001f",RESOLUTION=960x540,VIDEO-RANGE=SDR,URI="video/r540_h264/iframes.m3u8"
#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=100000,AVERAGE-BANDWIDTH=90000,CODECS="avc1.64001e",RESOLUTION=640x360,VIDEO-RANGE=SDR,URI="video/r360_h264/iframes.m3u8"
`);
});

it('a master with 5.1 lists each variant for two groups with the same renditions, stereo first', () => {
  const surround = {
    ...english,
    id: 'audio_en_aac_6ch',
    channels: 6,
    bandwidth: { average: 384_000, peak: 390_000 },
  };
  const german = { ...english, id: 'audio_de_aac_2ch', name: 'German', language: 'de', isDefault: false };
  const master = masterOf({
    video: [video],
    audio: [english, surround, german],
  });
  expect(master.match(/#EXT-X-MEDIA.*|#EXT-X-STREAM-INF.*/g)).toEqual([
    '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="audio/audio_en_aac_2ch/playlist.m3u8"',
    '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="German",LANGUAGE="de",DEFAULT=NO,AUTOSELECT=YES,CHANNELS="2",URI="audio/audio_de_aac_2ch/playlist.m3u8"',
    '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="surround",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="6",URI="audio/audio_en_aac_6ch/playlist.m3u8"',
    '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="surround",NAME="German",LANGUAGE="de",DEFAULT=NO,AUTOSELECT=YES,CHANNELS="2",URI="audio/audio_de_aac_2ch/playlist.m3u8"',
    '#EXT-X-STREAM-INF:BANDWIDTH=2130000,AVERAGE-BANDWIDTH=1628000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=960x540,FRAME-RATE=29.970,VIDEO-RANGE=SDR,AUDIO="audio",CLOSED-CAPTIONS=NONE',
    '#EXT-X-STREAM-INF:BANDWIDTH=2390000,AVERAGE-BANDWIDTH=1884000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=960x540,FRAME-RATE=29.970,VIDEO-RANGE=SDR,AUDIO="surround",CLOSED-CAPTIONS=NONE',
    '#EXT-X-STREAM-INF:BANDWIDTH=130000,AVERAGE-BANDWIDTH=128000,CODECS="mp4a.40.2",AUDIO="audio",CLOSED-CAPTIONS=NONE',
  ]);
});

it('a master without audio has no audio group', () => {
  const master = masterOf({ video: [video] });
  expect(master).not.toMatch(/AUDIO|EXT-X-MEDIA|mp4a|SUBTITLES|IMAGE-STREAM/);
  // One empty line after the head, and none for renditions that it has not.
  expect(master).toMatch(/^#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-INDEPENDENT-SEGMENTS\n\n#EXT-X-STREAM-INF/);
  expect(master).toContain(
    ':BANDWIDTH=2000000,AVERAGE-BANDWIDTH=1500000,CODECS="avc1.64001f",RESOLUTION=960x540,FRAME-RATE=29.970,VIDEO-RANGE=SDR,CLOSED-CAPTIONS=NONE\n',
  );
});

it('a master without video and audio is refused', () => {
  expect(() => masterOf({})).toThrow(new Error('a master without video and audio'));
});

it('a master ends with the storyboard of its video', () => {
  const storyboard = { tile: { width: 160, height: 90 }, tiles: 32, intervalSec: 2, durationSec: 63 };
  const listed = { storyboard, bandwidth: 12_000 };
  expect(masterOf({ video: [video], storyboard: listed })).toBe(
    `${masterOf({ video: [video] })}${storyboardLine(listed)}\n`,
  );
});

it("codec strings are read from the packager's master", () => {
  const written = `#EXTM3U
#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS="avc1.42c01f,mp4a.40.2",RESOLUTION=1280x720,AUDIO="audio"
video/r720_h264/playlist.m3u8
#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,CODECS="avc1.42c01f",URI="video/r720_h264/iframes.m3u8"
`;
  expect(codecsOfMaster(written)).toEqual({
    video: new Map([['video/r720_h264/playlist.m3u8', 'avc1.42c01f']]),
    audio: 'mp4a.40.2',
  });
});

it.each([
  ['#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8\n', new Map(), null],
  ['  #EXT-X-STREAM-INF:CODECS="hvc1.2.4,mp4a.40.2"  \n  v.m3u8  \n', new Map([['v.m3u8', 'hvc1.2.4']]), 'mp4a.40.2'],
  ['#EXT-X-STREAM-INF:CODECS="mp4a.40.2"\na.m3u8\n', new Map(), 'mp4a.40.2'],
  ['#EXT-X-STREAM-INF:CODECS="x-avc1,av01.0.4"\nv.m3u8\n', new Map([['v.m3u8', 'av01.0.4']]), null],
  ['#EXT-X-MEDIA:CODECS="avc1.42c01f"\nv.m3u8\n', new Map(), null],
])('codec strings of %j are read', (text, found, audio) => {
  expect(codecsOfMaster(text)).toEqual({ video: found, audio });
});

it('a master lists subtitles in one group, with the forced ones and those for people who do not hear marked', () => {
  const german = { id: 'text_de', name: 'German', language: 'de', isForced: true, isHearingImpaired: false };
  const other = { id: 'text_und', name: 'Sounds', language: null, isForced: false, isHearingImpaired: true };
  const master = masterOf({ video: [video], text: [german, other] });
  expect(master.split('\n').filter((line) => line.includes('SUBTITLES'))).toEqual([
    '#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="text",NAME="German",LANGUAGE="de",DEFAULT=NO,AUTOSELECT=YES,FORCED=YES,URI="text/text_de/playlist.m3u8"',
    '#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="text",NAME="Sounds",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,CHARACTERISTICS="public.accessibility.transcribes-spoken-dialog,public.accessibility.describes-music-and-sound",URI="text/text_und/playlist.m3u8"',
    expect.stringContaining('SUBTITLES="text",CLOSED-CAPTIONS=NONE') as string,
  ]);
});

const named = (family: 'h264' | 'hevc' | 'av1', range: 'sdr' | 'pq', height: number) => {
  const rung = { id: `r${height}_${family}`, family, range, width: height, height };
  return { ...video, ...rung };
};

it('a master of several codecs has the range and the rank of each variant', () => {
  const rungs = [
    named('h264', 'sdr', 540),
    named('h264', 'sdr', 1080),
    named('hevc', 'pq', 1080),
    named('av1', 'sdr', 540),
  ];
  const master = masterOf({ video: rungs, audio: [english] });
  const found = [...master.matchAll(/^#EXT-X-STREAM-INF:.*VIDEO-RANGE=(\w+),SCORE=(\d+),.*\nvideo\/(\w+)/gm)];
  expect(found.map(([, range, score, id]) => [id, range, score])).toEqual([
    ['r540_h264', 'SDR', '1'],
    ['r1080_h264', 'SDR', '3'],
    ['r1080_hevc', 'PQ', '4'],
    ['r540_av1', 'SDR', '2'],
  ]);
  expect(master).toMatch(/CODECS="mp4a.40.2",SCORE=0.5,AUDIO="audio"/);
  expect(master).toMatch(/#EXT-X-I-FRAME-STREAM-INF:.*VIDEO-RANGE=PQ,SCORE=4,URI="video\/r1080_hevc/);
});

it('renditions of one size are ranked by their range, then by their codec, whatever their order', () => {
  const rungs = [
    named('av1', 'sdr', 540),
    named('hevc', 'pq', 540),
    named('hevc', 'sdr', 540),
    named('h264', 'sdr', 540),
  ];
  const lines = masterOf({ video: rungs }).matchAll(/^#EXT-X-STREAM-INF:.*SCORE=(\d),/gm);
  expect([...lines].map(([, score]) => score)).toEqual(['3', '4', '2', '1']);
});

it('C14.10: a master without video has a variant for each group, whose playlist is the playlist of its default track', () => {
  const german = { ...english, id: 'audio_de_aac_2ch', name: 'German', language: 'de', isDefault: false };
  const wide = { ...english, id: 'audio_en_aac_6ch', channels: 6, bandwidth: { average: 384_000, peak: 390_000 } };
  expect(masterOf({ audio: [german, english, wide] })).toBe(`#EXTM3U
#EXT-X-VERSION:6
#EXT-X-INDEPENDENT-SEGMENTS

#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="audio/audio_en_aac_2ch/playlist.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="German",LANGUAGE="de",DEFAULT=NO,AUTOSELECT=YES,CHANNELS="2",URI="audio/audio_de_aac_2ch/playlist.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="surround",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="6",URI="audio/audio_en_aac_6ch/playlist.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="surround",NAME="German",LANGUAGE="de",DEFAULT=NO,AUTOSELECT=YES,CHANNELS="2",URI="audio/audio_de_aac_2ch/playlist.m3u8"

#EXT-X-STREAM-INF:BANDWIDTH=130000,AVERAGE-BANDWIDTH=128000,CODECS="mp4a.40.2",AUDIO="audio"
audio/audio_en_aac_2ch/playlist.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=390000,AVERAGE-BANDWIDTH=384000,CODECS="mp4a.40.2",AUDIO="surround"
audio/audio_en_aac_6ch/playlist.m3u8

`);
});

it('the master of an encrypted stream names its key, and any master its chapters, before the variants', () => {
  const keyEndpoint = 'https://media.example/api/key/h';
  const lines = masterOf({ video: [video], audio: [english], keyEndpoint, hasChapters: true }).split('\n');
  expect(lines.slice(3, 6)).toEqual([
    `#EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI="${keyEndpoint}",KEYFORMAT="identity"`,
    '#EXT-X-SESSION-DATA:DATA-ID="io.reelwright.chapters",URI="chapters.vtt",FORMAT=RAW',
    '',
  ]);
});
