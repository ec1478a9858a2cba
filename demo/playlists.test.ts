import { describe, expect, it } from 'vitest';
import { readMaster, readMedia } from './playlists.ts';

const master = `#EXTM3U
#EXT-X-VERSION:6
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="English, main",LANGUAGE="en",DEFAULT=YES,URI="r/audio/en/playlist.m3u8"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="text",NAME="English",URI="r/text/en/playlist.m3u8"

#EXT-X-STREAM-INF:BANDWIDTH=2000000,CODECS="avc1.64001f,mp4a.40.2",AUDIO="audio"
r/video/r540/playlist.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=730000,AUDIO="audio"
r/video/r360/playlist.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=730001,AUDIO="other"
r/video/r360/playlist.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=130000,CODECS="mp4a.40.2",AUDIO="audio"
r/audio/en/playlist.m3u8
#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=90000,URI="r/video/r360/iframes.m3u8"
`;

const media = `#EXTM3U
#EXT-X-MAP:URI="init.mp4"
#EXT-X-KEY:METHOD=SAMPLE-AES,URI="http://127.0.0.1:3000/api/key/a",IV=0x00,KEYFORMAT="identity"
#EXTINF:6.000,
seg_1.m4s
#EXTINF:2.5,
#EXT-X-BYTERANGE:10@0
seg_2.m4s
#EXT-X-ENDLIST
`;

describe('readMaster', () => {
  it('readMaster lists each variant and audio rendition once', () => {
    expect(readMaster(master)).toEqual([
      { kind: 'audio', uri: 'r/audio/en/playlist.m3u8' },
      { kind: 'video', uri: 'r/video/r540/playlist.m3u8' },
      { kind: 'video', uri: 'r/video/r360/playlist.m3u8' },
    ]);
  });

  it('readMaster refuses a text that does not start with #EXTM3U', () => {
    expect(() => readMaster('<html></html>')).toThrow('expected #EXTM3U first');
  });
});

describe('readMedia', () => {
  it('readMedia returns the init segment, the segments with their durations, and the key', () => {
    expect(readMedia(media)).toEqual({
      init: 'init.mp4',
      segments: [
        { uri: 'seg_1.m4s', durationSec: 6 },
        { uri: 'seg_2.m4s', durationSec: 2.5 },
      ],
      key: { method: 'SAMPLE-AES', uri: 'http://127.0.0.1:3000/api/key/a' },
    });
  });

  it('readMedia returns no key for a clear playlist', () => {
    expect(readMedia(media.replace(/#EXT-X-KEY.*\n/, '')).key).toBeNull();
    expect(readMedia(media.replace(/#EXT-X-KEY.*/, '#EXT-X-KEY:METHOD=NONE')).key).toBeNull();
  });

  it('readMedia refuses a playlist without an init segment, a segment or an end', () => {
    expect(() => readMedia(media.replace(/#EXT-X-MAP.*\n/, ''))).toThrow('no init segment');
    expect(() => readMedia(media.replaceAll(/seg_\d.*\n/g, ''))).toThrow('no segment');
    expect(() => readMedia(media.replace('#EXT-X-ENDLIST', ''))).toThrow('no #EXT-X-ENDLIST');
  });
});
