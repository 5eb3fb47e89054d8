package dev.jetsql.records;

import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.util.JsonParserDelegate;
import java.io.IOException;

/**
 * A parser of JSON that refuses text after its first object or array. Spark's parser reads one of
 * them and would ignore the rest.
 */
final class WholeJson extends JsonParserDelegate {
  WholeJson(JsonParser parser) {
    super(parser);
  }

  @Override
  public JsonToken nextToken() throws IOException {
    JsonToken token = delegate.nextToken();
    boolean isEnd = token != null && token.isStructEnd() && delegate.getParsingContext().inRoot();
    if (isEnd && delegate.nextToken() != null)
      throw new JsonParseException(this, "There is text after the document.");
    return token;
  }
}
