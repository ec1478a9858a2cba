declare module 'm3u8-parser' {
  interface Variant {
    readonly uri: string;
    readonly attributes: {
      readonly BANDWIDTH: number;
      readonly 'AVERAGE-BANDWIDTH': string;
      readonly CODECS: string;
      readonly RESOLUTION: { readonly width: number; readonly height: number };
      readonly 'FRAME-RATE': number;
      readonly AUDIO: string;
      readonly SUBTITLES?: string;
      readonly 'VIDEO-RANGE': string;
      readonly 'CLOSED-CAPTIONS': string;
    };
  }

  interface Rendition {
    readonly default: boolean;
    readonly autoselect: boolean;
    readonly language?: string;
    readonly uri: string;
  }

  interface ByteRange {
    readonly length: number;
    readonly offset: number;
  }

  interface Segment {
    readonly uri: string;
    readonly duration: number;
    readonly byterange?: ByteRange;
    readonly map: { readonly uri: string; readonly byterange?: ByteRange };
    readonly key?: { readonly method: string; readonly uri: string; readonly iv?: unknown };
  }

  /** The part of the package that tests use; it has no types of its own. */
  export class Parser {
    push(text: string): void;
    end(): void;
    readonly manifest: {
      readonly playlists: readonly Variant[];
      readonly iFramePlaylists: readonly Variant[];
      readonly mediaGroups: Readonly<
        Record<'AUDIO' | 'SUBTITLES', Readonly<Record<string, Readonly<Record<string, Rendition>>>>>
      >;
      readonly segments: readonly Segment[];
      readonly targetDuration: number;
      readonly playlistType: string;
      readonly endList: boolean;
      readonly independentSegments: boolean;
      readonly contentProtection?: unknown;
    };
  }
}
