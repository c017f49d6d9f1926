import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON read into maps, lists, strings, longs, doubles, booleans and null, and written from them. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Reads the document on standard input. */
    static Object readInput() throws java.io.IOException {
        return read(new String(System.in.readAllBytes(), StandardCharsets.UTF_8));
    }

    static Object read(String text) {
        return new Json(text).value();
    }

    /** Prints a document on standard output. */
    static void print(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        byte[] bytes = out.toString().getBytes(StandardCharsets.UTF_8);
        System.out.write(bytes, 0, bytes.length);
        System.out.flush();
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    static List<Object> list(Object value) {
        return (List<Object>) value;
    }

    static int number(Object value) {
        return ((Number) value).intValue();
    }

    private Object value() {
        skipBlanks();
        char first = text.charAt(at);
        switch (first) {
            case '{':
                return object();
            case '[':
                return list();
            case '"':
                return string();
            case 't':
                at += 4;
                return Boolean.TRUE;
            case 'f':
                at += 5;
                return Boolean.FALSE;
            case 'n':
                at += 4;
                return null;
            default:
                return number();
        }
    }

    private Map<String, Object> object() {
        Map<String, Object> found = new LinkedHashMap<>();
        at++;
        for (skipBlanks(); text.charAt(at) != '}'; skipBlanks()) {
            if (text.charAt(at) == ',') {
                at++;
                skipBlanks();
            }
            String name = string();
            skipBlanks();
            at++;
            found.put(name, value());
        }
        at++;
        return found;
    }

    private List<Object> list() {
        List<Object> found = new ArrayList<>();
        at++;
        for (skipBlanks(); text.charAt(at) != ']'; skipBlanks()) {
            if (text.charAt(at) == ',') {
                at++;
            }
            found.add(value());
        }
        at++;
        return found;
    }

    private String string() {
        StringBuilder found = new StringBuilder();
        for (at++; text.charAt(at) != '"'; at++) {
            char each = text.charAt(at);
            if (each != '\\') {
                found.append(each);
                continue;
            }
            char escaped = text.charAt(++at);
            int place = "bfnrt".indexOf(escaped);
            if (escaped == 'u') {
                found.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                at += 4;
            } else {
                found.append(place < 0 ? escaped : "\b\f\n\r\t".charAt(place));
            }
        }
        at++;
        return found.toString();
    }

    private Object number() {
        int start = at;
        while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        String digits = text.substring(start, at);
        if (digits.isEmpty()) {
            throw new IllegalArgumentException("no JSON value at character " + start);
        }
        boolean whole = digits.chars().allMatch(each -> each == '-' || Character.isDigit(each));
        return whole ? (Object) Long.valueOf(digits) : Double.valueOf(digits);
    }

    private void skipBlanks() {
        while (Character.isWhitespace(text.charAt(at))) {
            at++;
        }
    }

    private static void write(Object value, StringBuilder out) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof Map) {
            String before = "{";
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                out.append(before);
                quote(String.valueOf(entry.getKey()), out);
                out.append(": ");
                write(entry.getValue(), out);
                before = ",\n";
            }
            out.append(((Map<?, ?>) value).isEmpty() ? "{}" : "}");
        } else if (value instanceof Collection) {
            String before = "[";
            for (Object each : (Collection<?>) value) {
                out.append(before);
                write(each, out);
                before = ", ";
            }
            out.append(((Collection<?>) value).isEmpty() ? "[]" : "]");
        } else {
            quote(String.valueOf(value), out);
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (char each : text.toCharArray()) {
            if (each == '"' || each == '\\') {
                out.append('\\').append(each);
            } else if (each < ' ' || each > '~') {
                out.append(String.format("\\u%04x", (int) each));
            } else {
                out.append(each);
            }
        }
        out.append('"');
    }
}
