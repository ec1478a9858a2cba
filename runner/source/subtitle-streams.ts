import type { Warning } from '#domain/job-types/shared-results.ts';
import { languageTag } from '#domain/media/languages.ts';
import type { SubtitleSource } from '#domain/media/subtitle-plan.ts';
import { type FfprobeStream, isProtected } from './ffprobe-document.ts';

/** The caption tracks of QuickTime (`c608`), by ffmpeg's name. */
const captionCodec = 'eia_608';
/** The kinds of text that ffmpeg turns into WebVTT, by its names. */
const textCodecs = ['ass', 'ssa', 'subrip', 'text', 'mov_text', 'webvtt', captionCodec];

function isText(stream: FfprobeStream): boolean {
  return textCodecs.includes(stream.codec_name ?? '') && !isProtected(stream);
}

/** The text subtitles of a source in its order, and a warning that names each other one. */
export function readSubtitleStreams(streams: readonly FfprobeStream[]): {
  subtitles: SubtitleSource[];
  warnings: Warning[];
} {
  const all = streams.filter(({ codec_type: type }) => type === 'subtitle');
  const others = all.filter((stream) => !isText(stream));
  const named = others.map(({ index, codec_name: codec = 'unknown', tags }) => {
    const language = languageTag(tags['language']);
    return `stream ${index} (${language === null ? codec : `${codec}, ${language}`})`;
  });
  const message = `Subtitles that are images or of an unknown kind were left out: ${named.join(', ')}.`;
  return {
    subtitles: all.filter(isText).map(({ index, codec_name: codec, disposition, tags }) => ({
      streamIndex: index,
      isCea608: codec === captionCodec,
      ...(codec === 'mov_text' ? { hasLengths: true } : {}),
      language: tags['language'] ?? tags['LANGUAGE'],
      title: tags['title'],
      isForced: disposition['forced'] === 1,
      isHearingImpaired:
        codec === captionCodec || disposition['hearing_impaired'] === 1 || disposition['captions'] === 1,
    })),
    warnings: others.length === 0 ? [] : [{ code: 'subtitles_left_out', message }],
  };
}
