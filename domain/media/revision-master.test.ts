import { expect, it } from 'vitest';
import { codecsOfMaster, revisionMaster } from './revision-master.ts';

const video = {
  id: 'r540_h264',
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
  const rate = { num: 30_000, den: 1001 };
  expect(revisionMaster({ video: [video, small], audio: [english, unnamed], rate })).toBe(`#EXTM3U
#EXT-X-VERSION:6
#EXT-X-INDEPENDENT-SEGMENTS

#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="audio/audio_en_aac_2ch/playlist.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="Audio",DEFAULT=NO,AUTOSELECT=YES,CHANNELS="2",URI="audio/audio_und_aac_2ch/playlist.m3u8"

#EXT-X-STREAM-INF:BANDWIDTH=2131000,AVERAGE-BANDWIDTH=1629000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=960x540,FRAME-RATE=29.970,VIDEO-RANGE=SDR,AUDIO="audio",CLOSED-CAPTIONS=NONE
video/r540_h264/playlist.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=831000,AVERAGE-BANDWIDTH=629000,CODECS="avc1.64001e,mp4a.40.2",RESOLUTION=640x360,FRAME-RATE=29.970,VIDEO-RANGE=SDR,AUDIO="audio",CLOSED-CAPTIONS=NONE
video/r360_h264/playlist.m3u8

#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=100000,AVERAGE-BANDWIDTH=90000,CODECS="avc1.64001f",RESOLUTION=960x540,VIDEO-RANGE=SDR,URI="video/r540_h264/iframes.m3u8"
#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=100000,AVERAGE-BANDWIDTH=90000,CODECS="avc1.64001e",RESOLUTION=640x360,VIDEO-RANGE=SDR,URI="video/r360_h264/iframes.m3u8"
`);
});

it('a master lists the default audio first and the others in their order', () => {
  const audio = ['en', 'de', 'fr'].map((language) => ({
    ...english,
    id: `audio_${language}_aac_2ch`,
    name: language,
    language,
    isDefault: language === 'de',
  }));
  const master = revisionMaster({ video: [video], audio, rate: { num: 25, den: 1 } });
  expect([...master.matchAll(/LANGUAGE="(\w+)",DEFAULT=(\w+)/g)].map(([, ...found]) => found)).toEqual([
    ['de', 'YES'],
    ['en', 'NO'],
    ['fr', 'NO'],
  ]);
});

it('a master without audio has no audio group', () => {
  const master = revisionMaster({ video: [video], audio: [], rate: { num: 25, den: 1 } });
  expect(master).not.toMatch(/AUDIO|EXT-X-MEDIA|mp4a/);
  expect(master).toContain('BANDWIDTH=2000000,AVERAGE-BANDWIDTH=1500000,CODECS="avc1.64001f",');
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
