import java.util.Map;
import java.util.TreeMap;

/** Errors by code: name, exception, and whether clients retry after it or refresh their metadata. */
public final class ErrorCodes {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> answers = new TreeMap<>();
        Class<?> retriable = Reflection.type("org.apache.kafka.common.errors.RetriableException");
        Class<?> metadata = Reflection.type("org.apache.kafka.common.errors.InvalidMetadataException");
        for (Object error : Class.forName("org.apache.kafka.common.protocol.Errors").getEnumConstants()) {
            String code = Reflection.call(error, "code") + "/";
            Object exception = Reflection.call(error, "exception");
            answers.put(code + "name", ((Enum<?>) error).name());
            answers.put(code + "exception", exception == null ? "" : exception.getClass().getSimpleName());
            answers.put(code + "retriable", retriable.isInstance(exception));
            answers.put(code + "invalid metadata", metadata.isInstance(exception));
        }
        Json.print(answers);
    }
}
